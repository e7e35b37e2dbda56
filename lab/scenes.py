"""All scenes, in the order of the tables."""

import scenes_churn
import scenes_deaths
import scenes_disabled
import scenes_million
import scenes_other
import scenes_prober
import scenes_receipts
import scenes_rolling
import scenes_service
import scenes_slow
import scenes_tunnels

FILES = (scenes_rolling, scenes_receipts, scenes_tunnels, scenes_deaths, scenes_slow, scenes_other, scenes_million, scenes_churn,
         scenes_prober, scenes_disabled, scenes_service)
ALL = [scene for file in FILES for scene in file.SCENES]
BY_NAME = {scene.name: scene for scene in ALL}
