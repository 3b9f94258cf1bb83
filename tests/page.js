// What a reader would stumble over on this page, read from the rendered document.
async () => {
  if (window.MathJax?.startup?.promise) await MathJax.startup.promise;
  const images = [...document.images];
  await Promise.all(images.map((image) => image.decode().catch(() => null)));
  document.head.insertAdjacentHTML("beforeend", "<style>* { animation: none !important; transition: none !important }</style>");
  document.querySelectorAll("details").forEach((element) => (element.open = true));

  // Contrast as in WCAG 2: text against the backgrounds below it.
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const channel = (value) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    const [r, g, b, alpha = 1] = numbers(getComputedStyle(element).backgroundColor);
    if (alpha === 0) return ground(element.parentElement);
    const below = alpha < 1 ? ground(element.parentElement) : [0, 0, 0];
    return [r, g, b].map((value, i) => value * alpha + below[i] * (1 - alpha));
  };
  const opacity = (element) => (element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1);
  const contrast = (element) => {
    const [below, alpha] = [ground(element), opacity(element)];
    const ink = numbers(getComputedStyle(element).color).slice(0, 3);
    const seen = ink.map((value, i) => value * alpha + below[i] * (1 - alpha));
    const [dim, bright] = [light(seen), light(below)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05);
  };
  const says = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const texts = [...document.querySelectorAll(".bd-article :not(.headerlink), .bd-links *")].filter((e) => e.offsetParent && says(e));

  return {
    overflow: Math.max(document.documentElement.scrollWidth - window.innerWidth, 0),
    unrendered: [...document.querySelectorAll(".math:not(:has(mjx-container svg))")].map((e) => e.textContent),
    broken: images.filter((image) => !image.naturalWidth).map((image) => image.src),
    faint: texts.filter((e) => contrast(e) < 4.5).map((e) => `${e.className}: ${e.textContent.slice(0, 40)}`),
  };
};
