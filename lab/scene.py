"""A scene: a name, its contestants, and a function that plays it on a stage and reports the result."""

import dataclasses


class Skip(Exception):
    """The reason why a contestant cannot play a scene."""


@dataclasses.dataclass
class Result:
    row: dict  # column -> value, in the order of the table
    misses: list  # our missed goals, as sentences; peers' are only printed
    failed: list = dataclasses.field(default_factory=list)  # records, to be explained


class Scene:
    def __init__(self, name, title, contestants, play, story="", **parameters):
        self.name, self.title, self.contestants, self.story = name, title, contestants, story
        self._play, self._parameters = play, parameters

    def play(self, stage):
        result = self._play(stage, **self._parameters)
        differences, misses = stage.contestant.audited()
        *front, last = result.row.items()
        result.row = dict((*front, ("audit", differences), last))
        result.misses.extend(misses)
        return result
