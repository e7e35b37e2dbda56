"""Tables: one for each scene, one row for each contestant."""


def print_table(scene, rows):
    if not rows:
        return
    columns = list(next(iter(rows.values())).row)
    cells = [["", *columns], *([name, *(str(result.row[column]) for column in columns)] for name, result in rows.items())]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns) + 1)]
    print(f"\n{scene.name}: {scene.title}")
    for line in scene.story.splitlines():
        print(f"    {line}")
    for line in cells:
        # Words in the outer columns, numbers between.
        print("  " + "  ".join(cell.ljust(width) if index in (0, len(columns)) else cell.rjust(width)
                               for index, (cell, width) in enumerate(zip(line, widths))).rstrip(), flush=True)


def as_data(scene, rows):
    return {"scene": scene.name, "title": scene.title,
            "rows": [{"contestant": name, **result.row, "misses": result.misses} for name, result in rows.items()]}


def print_list(scenes):
    for scene in scenes:
        print(f"{scene.name:26}{scene.title}  [{' '.join(scene.contestants)}]")
