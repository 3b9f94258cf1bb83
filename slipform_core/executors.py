"""Run independent tasks in local processes; a task whose parent dies goes with it."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from slipform_core import progress


def run_all(tasks: Sequence[Callable[[], Any]], jobs: int) -> list[Any]:
    """The results of all tasks, in their order, `jobs` at a time; the first error ends the rest.

    Tasks and results are pickled where `jobs` is more than 1, so tasks are partials of module functions.
    """
    if jobs == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    workers = min(jobs, len(tasks))
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin, (os.getpid(), workers))
    try:
        futures = [pool.submit(task) for task in tasks]
        for future in as_completed(futures):
            future.result()
        return [future.result() for future in futures]
    except BaseException:
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int, workers: int) -> None:
    # Workers are numbered in the order in which they start, through all pools of the parent.
    progress.position = int(multiprocessing.current_process().name.rpartition("-")[2]) % workers
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    # A worker that outlived a killed parent would write the same files as the run that resumes it.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
