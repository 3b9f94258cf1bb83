"""The text stage: captions in, audited rewritings and rejections out."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from slipform_core import progress
from slipform_core.audit import audit
from slipform_core.concrete_plant.guard import Failure, Guard
from slipform_core.concrete_plant.parts import (
    WHOLE,
    Part,
    Rejection,
    Share,
    head,
    part_path,
    part_paths,
    stands,
    write_part,
)
from slipform_core.concreteness import CHOICES, Norms, choose_swap, choose_target, extract_keywords_batch
from slipform_core.records import Caption, HardNegative, Keyword, Provenance
from slipform_core.rewriters import Rewriter, record_rng
from slipform_core.sources.grouping import whole_pictures

SWAP = "swap"
NOTHING = "no word to choose"
REPEATED = "repeated caption"
EMPTY = "empty caption"
MARKUP = "markup in the caption"
UNREADABLE = "unreadable characters"
TAG = re.compile(r"</?[A-Za-z][^>]*>|&(#\d+|[A-Za-z]+);")


class TextStage:
    """Rewrites captions for one choice of the target word.

    choose: "hc", "lc", "wo" (see `choose_target`), or "swap", which exchanges two words of a role. top_k:
    candidates a role. attempts: draws before a caption is rejected. seed: of choice and rewriter; each record
    draws from a generator of its own, so that its outcome does not depend on its neighbours.
    """

    def __init__(
        self, *, norms: Norms, choose: str, rewriter: Rewriter, top_k: int, attempts: int, seed: int
    ):
        if choose not in (*CHOICES, SWAP):
            raise ValueError(f"unknown choice {choose!r}; the choices are: {', '.join((*CHOICES, SWAP))}")
        self.norms, self.choose, self.rewriter = norms, choose, rewriter
        self.top_k, self.attempts, self.seed = top_k, attempts, seed
        self._guard = Guard()

    def run(
        self,
        captions: Iterable[Caption],
        out: Path,
        size: int,
        share: Share = WHOLE,
        expected: int | None = None,
    ) -> None:
        """Write this process's share of the parts, of `size` captions or so; those that stand are kept.

        expected: how many captions there are, for the bar.
        """
        total = 0
        rejected: Counter[str] = Counter()
        mine = expected and expected // share.count
        with progress.bar(desc=f"negatives {self.choose}", unit="caption", total=mine) as bar:
            for index, chunk in enumerate(whole_pictures(captions, size)):
                total = index + 1
                if share.has(index):
                    rejected += self._write(part_path(out, index), chunk)
                    bar.set_postfix(rejected.most_common(3), refresh=False)
                    bar.update(len(chunk))
        for index, path in part_paths(out).items():
            if index >= total:
                path.unlink(missing_ok=True)

    def _write(self, path: Path, captions: Sequence[Caption]) -> Counter[str]:
        source = self.source(captions)
        if stands(path, source):
            return Counter(head(path)["rejected"])
        part = self.part(captions)
        write_part(path, part, source)
        return part.reasons

    def part(self, captions: Sequence[Caption]) -> Part:
        """What becomes of these captions.

        A caption whose rewriting fails is tried again with another draw, `attempts` times in all; its last
        reason is the one that counts. A picture's caption that comes again would make the same record.
        """
        reasons = self._unusable(captions)
        open_rows = [row for row in range(len(captions)) if row not in reasons]
        texts = [captions[row].text for row in open_rows]
        keywords = dict(zip(open_rows, extract_keywords_batch(texts, self.norms), strict=True))
        records: dict[int, HardNegative] = {}
        rejected = {row: Rejection(captions[row], reason) for row, reason in reasons.items()}
        for attempt in range(self.attempts):
            targets = {}
            for row in open_rows:
                targets[row] = self.target(captions[row], keywords[row], attempt=attempt)
                if targets[row] is None:
                    rejected[row] = Rejection(captions[row], NOTHING)
            open_rows = [row for row in open_rows if targets[row] is not None]
            answers = self._rewritten([(captions[row], targets[row]) for row in open_rows], attempt)
            for row, answer in zip(open_rows, answers, strict=True):
                caption, target = captions[row], targets[row]
                reason = answer if isinstance(answer, Failure) else self._fault(caption, target, answer)
                if reason:
                    rejected[row] = Rejection(
                        caption, reason, target.text, answer if answer != reason else ""
                    )
                else:
                    records[row] = self._record(caption, target, answer)
                    rejected.pop(row, None)
            # What failed is not asked for again here: the guard would take few bad captions for a bad model.
            over = {
                row for row, answer in zip(open_rows, answers, strict=True) if isinstance(answer, Failure)
            }
            open_rows = [row for row in open_rows if row not in records and row not in over]
        kept = [(captions[row], records[row]) for row in sorted(records)]
        return Part(kept, [rejected[row] for row in sorted(rejected)])

    def _unusable(self, captions: Sequence[Caption]) -> dict[int, str]:
        """Captions that are not even tried, and why."""
        reasons, seen = {}, set()
        for row, caption in enumerate(captions):
            text = caption.text
            if not text.strip():
                reasons[row] = EMPTY
            elif "\ufffd" in text:
                reasons[row] = UNREADABLE
            elif TAG.search(text):
                reasons[row] = MARKUP
            elif (caption.image_id, text) in seen:
                reasons[row] = REPEATED
            seen.add((caption.image_id, text))
        return reasons

    def target(self, caption: Caption, keywords: Sequence[Keyword], *, attempt: int) -> Keyword | None:
        """The word to change in an attempt; None where there is none to choose."""
        rng = record_rng(caption, self.seed + attempt)
        if self.choose == SWAP:
            return choose_swap(caption.text, keywords, rng=rng)
        return choose_target(keywords, self.choose, top_k=self.top_k, rng=rng)

    def _rewritten(self, rows: Sequence[tuple[Caption, Keyword]], attempt: int) -> list[str]:
        def rewrite(rows: Sequence[tuple[Caption, Keyword]]) -> list[str]:
            captions, targets = zip(*rows, strict=True)
            return self.rewriter.rewrite(captions, targets, seed=self.seed + attempt)

        return self._guard.each(rewrite, rows) if rows else []

    def _fault(self, caption: Caption, target: Keyword, answer: str) -> str | None:
        return audit(caption.text, target, answer) or self.rewriter.fault(caption, answer)

    def _record(self, caption: Caption, target: Keyword, text: str) -> HardNegative:
        seed = int(record_rng(caption, self.seed).integers(2**31))
        provenance = Provenance(self.rewriter.version, "", seed)
        return HardNegative(
            caption.image_id, caption.image_path, caption.text, target, text, None, provenance
        )

    def source(self, captions: Sequence[Caption]) -> str:
        """What a part is made from, in sixteen hex digits."""
        settings = (
            self.norms.name,
            self.choose,
            self.top_k,
            self.attempts,
            self.seed,
            self.rewriter.version,
        )
        digest = hashlib.sha256(repr(settings).encode())
        for caption in captions:
            digest.update(repr(caption).encode())
        return digest.hexdigest()[:16]
