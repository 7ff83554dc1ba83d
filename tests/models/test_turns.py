"""Functions in turns: one at a time, in a fixed order, and none is left behind."""

import threading

import pytest

from driftfit.models.torch.turns import Turns


def test_questions_meet_when_everybody_waits_and_only_one_function_runs_at_a_time():
    running, served = [], []

    def serve(questions):
        served.append(sorted(questions))
        assert running == []
        return [(question, question[0] * 10) for question in questions]

    turns = Turns(serve)

    def task(number, n_questions):
        total = 0
        for step in range(n_questions):
            running.append(number)
            assert running == [number]
            question = (number, step)
            running.clear()
            total += turns.ask(question)
        return total

    found = [number for number, _, _ in turns.run([lambda own=own: task(own, own) for own in (1, 3, 0, 2)])]
    assert served == [[(1, 0), (2, 0), (3, 0)], [(2, 1), (3, 1)], [(3, 2)]]
    assert found == [2, 0, 3, 1]


def test_answers_may_come_later():
    """Here only the question that has waited longest is answered."""
    open_questions = []

    def serve(questions):
        open_questions.extend(questions)
        return [(first := open_questions.pop(0), first)]

    turns = Turns(serve)
    tasks = [lambda own=own: [turns.ask((own, step)) for step in range(2)] for own in range(3)]
    assert {number: result for number, result, _ in turns.run(tasks)} == {own: [(own, 0), (own, 1)] for own in range(3)}


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_than_so_many_are_under_way(most):
    sizes = []

    def serve(questions):
        sizes.append(len(questions))
        return [(question, None) for question in questions]

    turns = Turns(serve)
    assert len(list(turns.run([lambda own=own: turns.ask([own]) for own in range(5)], most))) == 5
    assert max(sizes) == most


def test_exceptions_stay_with_their_function_or_reach_those_who_asked():
    def serve(questions):
        raise OSError("no answer")

    turns = Turns(serve)
    found = {number: error for number, _, error in turns.run([lambda: turns.ask(1), lambda: 1 / 0, lambda: 3])}
    assert isinstance(found[0], OSError)
    assert isinstance(found[1], ZeroDivisionError)
    assert found[2] is None


def test_nobody_outside_can_ask():
    turns = Turns(lambda questions: [])
    assert not turns.inside
    with pytest.raises(RuntimeError, match="runs in turns"):
        turns.ask(1)


def test_functions_that_nobody_waits_for_end():
    before = threading.active_count()
    ended = []

    def task():
        try:
            turns.ask([1])
        finally:
            ended.append(True)

    turns = Turns(lambda questions: [(questions[0], None)])
    run = turns.run([lambda: 0, task, task])
    assert next(run)[0] == 0
    next(run)
    run.close()
    assert ended == [True, True]
    assert threading.active_count() == before
