"""All scenes, in the order of the tables."""

import scenes_churn
import scenes_deaths
import scenes_million
import scenes_other
import scenes_receipts
import scenes_rolling

ALL = [*scenes_rolling.SCENES, *scenes_receipts.SCENES, *scenes_deaths.SCENES, *scenes_other.SCENES, *scenes_million.SCENES, *scenes_churn.SCENES]
BY_NAME = {scene.name: scene for scene in ALL}
