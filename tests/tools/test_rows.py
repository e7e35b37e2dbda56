"""tools/rows: a row of a state machine that no test takes is named."""

import sys

import pytest

SOURCE = "using FlowMachine = Machine<FlowLife>;\nusing NodeMachine = lifecycle::Machine<NodeLife>;\n"


@pytest.fixture
def judged(tool, tmp_path, monkeypatch, capsys):
    """judged({program: marks}): status and lines for a tree with one table of two rows."""
    rows = tool("rows")
    (tmp_path / "src" / "lifecycle").mkdir(parents=True)
    (tmp_path / "src" / "lifecycle" / "flow.h").write_text(SOURCE.splitlines()[0] + "\n")
    monkeypatch.setattr(rows, "tables_of_sources", lambda find=rows.tables_of_sources: find(tmp_path))
    monkeypatch.setattr(sys, "argv", ["rows", str(tmp_path)])

    def judge(records):
        for program, marks in records.items():
            (tmp_path / f"{program}.lifecycle::FlowLife").write_bytes(bytes(marks) + b"\nplaced refused\nplaced ended\n")
        return rows.main(), capsys.readouterr().out.splitlines()

    return judge


def test_rows_taken_by_several_programs_count_together(judged):
    assert judged({"ebbgate": [1, 0], "ebbsim": [0, 1]}) == (0, ["ok lifecycle::FlowLife (2 rows)"])


def test_rows_that_nothing_took_are_named(judged):
    status, lines = judged({"ebbgate": [1, 0], "ebbsim": [1, 0]})
    assert status == 1
    assert lines == ["FAIL lifecycle::FlowLife: in no test: placed ended"]


def test_walking_the_table_is_not_taking_it(judged):
    status, lines = judged({"ebbgate": [1, 0], "test_lifecycle": [1, 1]})
    assert status == 1
    assert lines == ["FAIL lifecycle::FlowLife: only by walking the table: placed ended"]


def test_a_table_that_no_program_recorded_fails(judged):
    assert judged({}) == (1, ["FAIL lifecycle::FlowLife: no program recorded this table"])


def test_the_tables_of_other_rooms_are_found(tool, tmp_path):
    (tmp_path / "src" / "reap").mkdir(parents=True)
    (tmp_path / "src" / "reap" / "suspicion.h").write_text(SOURCE.splitlines()[1] + "\n")
    assert list(tool("rows").tables_of_sources(tmp_path)) == ["reap::NodeLife"]
