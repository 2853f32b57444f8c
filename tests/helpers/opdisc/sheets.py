"""A card's Excel file, evaluated by formulas: cells are filled in, total and answer come out."""

import contextlib
import io


def filled_book(content, rows):
    """Return a workbook with one sheet r0, r1, ... for each row, as a person fills it in."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content))
    form = book["Card"]
    for at, row in enumerate(rows):
        sheet = book.copy_worksheet(form)
        sheet.title = f"r{at}"
        for line in range(1, sheet.max_row + 1):
            place, cell = sheet[f"B{line}"], row.get(sheet[f"A{line}"].value)
            if place.protection.locked or cell is None or cell == "":
                continue
            place.value = typed(cell, place.number_format)
            if isinstance(place.value, str):
                place.data_type = "s"
    filled = io.BytesIO()
    book.save(filled)
    return filled.getvalue()


def typed(cell, number_format):
    """Return what a program of sheets makes of it: in a cell for texts it stays one."""
    if number_format == "General" and isinstance(cell, str):
        with contextlib.suppress(ValueError):
            return float(cell)
    return cell


class Sheet:
    """A workbook in which one row at a time is typed.

    Parameters
    ----------
    content : bytes
        The file.
    folder : pathlib.Path
        Where it is put.
    """

    def __init__(self, content, folder):
        import formulas
        import openpyxl

        place = folder / "card.xlsx"
        place.write_bytes(content)
        sheet = openpyxl.load_workbook(io.BytesIO(content))["Card"]
        self.cells = {
            sheet[f"A{row}"].value: f"B{row}"
            for row in range(1, sheet.max_row + 1)
            if not sheet[f"B{row}"].protection.locked
        }
        self._formats = {place: sheet[place].number_format for place in self.cells.values()}
        words = {}
        for row in range(1, sheet.max_row + 1):
            words.setdefault(sheet[f"A{row}"].value, f"E{row}")
        self.given = [words["Total"], words["Answer"]]
        self.given += [
            place for word, place in words.items() if str(word).startswith("Chance of")
        ][:1]
        model = formulas.ExcelModel().loads(str(place)).finish()
        self._function = model.compile(
            inputs=[self._name(place) for place in self.cells.values()],
            outputs=[self._name(place) for place in self.given],
        )

    def _name(self, place):
        return f"'[card.xlsx]CARD'!{place}"

    def __call__(self, row):
        """Return what the sheet shows for cells by column; None is an empty one."""
        import numpy as np

        cells = (self._typed(row[name], place) for name, place in self.cells.items())
        found = self._function(*(np.array([[cell]], dtype=object) for cell in cells))
        return [each.value[0, 0] for each in found]

    def _typed(self, cell, place):
        import schedula

        return schedula.EMPTY if cell in (None, "") else typed(cell, self._formats[place])
