"""One record that fails is counted; twenty in a row stop the run."""

import pytest

from slipform_core.concrete_plant.guard import LIMIT, Failure, Guard


def halves(records):
    if 7 in records:
        raise ZeroDivisionError
    return [record / 2 for record in records]


def test_a_record_that_fails_is_alone_in_failing():
    assert Guard().each(halves, [6, 7, 8]) == [3, Failure("failed: ZeroDivisionError"), 4]
    assert Guard().each(halves, [7, 8]) == [Failure("failed: ZeroDivisionError"), 4]
    assert Guard().each(halves, []) == []


def test_a_batch_without_failures_is_one_call():
    calls = []
    Guard().each(lambda records: calls.append(len(records)) or records, [1, 2, 3])
    assert calls == [3]


def test_so_many_failures_in_a_row_are_no_accident():
    guard = Guard()
    guard.each(halves, [7] * (LIMIT - 1))
    assert guard.each(halves, [2]) == [1]
    guard.each(halves, [7] * (LIMIT - 1))
    with pytest.raises(ZeroDivisionError):
        guard.each(halves, [7])


@pytest.mark.parametrize("records", [[1], [1, 2]])
def test_an_interruption_is_no_failure(records):
    calls = []

    def interrupted_once(records):
        calls.append(records)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return records

    with pytest.raises(KeyboardInterrupt):
        Guard().each(interrupted_once, records)
