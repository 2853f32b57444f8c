"""The report opened in a headless browser: clicked through, on a phone, in the dark, printed."""

import base64
import json
import os
import shutil
from pathlib import Path

import pytest
from helpers.opdisc import report_rows

from opdisc.report import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (pip extra dev)")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER),
        reason="needs chromium and chromedriver (Debian: chromium-driver)",
    ),
]
SECTIONS = (
    "leads", "charts", "numbers", "time", "promises", "cards", "receipts", "appendix",
)  # fmt: skip
PHONE = (360, 780)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Every kind of method, a failed run, one at its limit, and two oracles."""
    records = report_rows.rows(epsilons=(0.01, 0.1, 1.0), repeats=5)
    lost = [i for i, r in enumerate(records) if r["method"] == "diffprivlib-forest"]
    records[lost[0]] = report_rows.failed(records[lost[0]])
    records[lost[1]] = report_rows.failed(records[lost[1]], "time limit", "over 120 s")
    other = [r | {"oracle": "highs", "run_id": f"{r['run_id']}/highs"} for r in records]
    records += [r for r in other if r["method"] == "block-one-hot"]
    directory = report_rows.write(tmp_path_factory.mktemp("comparison"), records)
    return write_report(directory)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Where screenshots go: the directory of OPDISC_SCREENSHOTS, or one of pytest's."""
    named = os.environ.get("OPDISC_SCREENSHOTS")
    directory = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests; each opens the page anew."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1200,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def start(browser, report):
    """Return a function that opens the report as on the device it is told."""

    def open_report(*, dark=False, phone=False, script=True):
        do = browser.execute_cdp_cmd
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        do("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
        do("Emulation.clearDeviceMetricsOverride", {})
        if phone:
            screen = {"width": PHONE[0], "height": PHONE[1], "deviceScaleFactor": 2}
            do("Emulation.setDeviceMetricsOverride", screen | {"mobile": True})
        do("Emulation.setScriptExecutionDisabled", {"value": not script})
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(report.as_uri())
        return browser

    return open_report


def find(driver, selector):
    return driver.find_elements("css selector", selector)


def shown(driver, selector):
    return [element for element in find(driver, selector) if element.is_displayed()]


def click(driver, selector):
    (element,) = find(driver, selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def picture(driver, path):
    """Save the whole page, not only what the window shows."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    data = driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    path.write_bytes(base64.b64decode(data))


def background(driver):
    return driver.execute_script("return getComputedStyle(document.body).backgroundColor")


def overflow(driver):
    return driver.execute_script("return document.documentElement.scrollWidth - innerWidth")


def requested(driver):
    """Return every address that the browser asked for."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }


def test_tabs_show_one_part_at_a_time(start, pictures):
    driver = start()
    assert [p.get_attribute("id") for p in shown(driver, ".panel")] == ["leads"]
    for name in SECTIONS:
        click(driver, f"#tab-{name}")
        assert [p.get_attribute("id") for p in shown(driver, ".panel")] == [name]
        assert overflow(driver) <= 0
        picture(driver, pictures / f"light-{name}.png")
    tab = find(driver, "#tab-appendix")[0]
    tab.send_keys(webdriver.Keys.ARROW_RIGHT)
    assert [p.get_attribute("id") for p in shown(driver, ".panel")] == ["leads"]
    assert driver.switch_to.active_element.get_attribute("id") == "tab-leads"


def test_the_first_screen_has_the_warning_the_sentence_the_curves_and_the_best(start):
    driver = start()

    def bottom(selector):
        script = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
        return driver.execute_script(script, selector)

    parts = (".warning", ".verdict", "#summary figure .wide svg", "#best tbody tr:nth-child(3)")
    ends = [bottom(part) for part in parts]
    assert ends == sorted(ends) and ends[-1] <= driver.execute_script("return innerHeight")
    lines = (
        "return document.querySelector('.warning').getBoundingClientRect().height / 1.45 / 14.4"
    )
    assert driver.execute_script(lines) < 3
    named = [text.text for text in find(driver, "#summary .wide svg .label text")]
    assert {"Majority class", "Best scorecard, no privacy"} <= set(named)


def test_a_link_into_a_part_opens_it(start):
    driver = start()
    click(driver, ".warning a")
    assert [p.get_attribute("id") for p in shown(driver, ".panel")] == ["appendix"]


def test_nothing_is_asked_of_the_network_and_nothing_complains(start, report):
    driver = start()
    for name in SECTIONS:
        click(driver, f"#tab-{name}")
    assert {u for u in requested(driver) if not u.startswith("data:")} == {report.as_uri()}
    assert driver.get_log("browser") == []


def test_a_complaint_would_be_seen(start):
    driver = start()
    driver.execute_script("const s = document.createElement('img'); s.src = 'https://example.org/a';"
                          "document.body.append(s)")  # fmt: skip
    messages = [entry["message"] for entry in driver.get_log("browser")]
    assert any("Content Security Policy" in message for message in messages)


def test_methods_and_error_bars_are_switched(start):
    driver = start()
    click(driver, "#tab-charts")
    first = '.wide svg [data-series="0"]'
    assert shown(driver, f"{first}.line") and shown(driver, f"{first}.sd")
    assert not shown(driver, f"{first}.ci")
    click(driver, 'input[value="ci"]')
    assert shown(driver, f"{first}.ci") and not shown(driver, f"{first}.sd")
    click(driver, 'input[data-toggles="0"]')
    assert not shown(driver, first)
    assert shown(driver, '.wide svg [data-series="1"].line')
    click(driver, 'button[data-set="fair"]')
    boxes = find(driver, "input[data-toggles]")
    ticked = {b.get_attribute("data-toggles") for b in boxes if b.is_selected()}
    fair = {b.get_attribute("data-toggles") for b in boxes
            if b.get_attribute("data-rankable") == "true"}  # fmt: skip
    assert ticked == fair and 0 < len(fair) < len(boxes)
    assert shown(driver, first)


def test_numbers_are_sorted_and_filtered(start):
    driver = start()
    click(driver, "#tab-numbers")
    table = "#numbers-held-out"
    (head,) = [b for b in find(driver, f"{table} th button") if b.text == "accuracy"]
    column = 1 + find(driver, f"{table} thead th").index(head.find_element("xpath", ".."))

    def values():
        cells = shown(driver, f"{table} tbody tr > :nth-child({column})")
        return [float(cell.get_attribute("data-key")) for cell in cells]

    before = values()
    head.click()
    assert values() == sorted(before)
    head.click()
    assert values() == sorted(before, reverse=True)
    assert head.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    form = "form[data-filters='numbers-held-out']"
    (words,) = find(driver, f"{form} [name='words']")
    words.send_keys("void 0.01")
    lines = shown(driver, f"{table} tbody tr")
    assert [line.get_attribute("data-epsilon") for line in lines] == ["0.01"]
    assert "OPDisc as published" in lines[0].text
    assert find(driver, f"{form} output")[0].text == f"1 of {len(before)} lines"


def test_receipts_open(start):
    driver = start()
    click(driver, "#tab-receipts")
    assert not shown(driver, "#receipts dl")
    click(driver, 'button[data-open="yes"]')
    receipts = find(driver, "#receipts details")
    assert len(shown(driver, "#receipts dl")) == len(receipts) > 20
    click(driver, 'button[data-open="no"]')
    assert not shown(driver, "#receipts dl")


def test_dark_follows_the_system_and_the_button(start, pictures):
    driver = start(dark=True)
    dark = background(driver)
    text = "return getComputedStyle(document.querySelector('.wide svg text')).fill"
    assert driver.execute_script(text) == "rgb(232, 235, 239)"
    for name in SECTIONS:
        click(driver, f"#tab-{name}")
        picture(driver, pictures / f"dark-{name}.png")
    click(driver, "#theme")
    assert find(driver, "#theme")[0].text == "Colours: light"
    assert background(driver) == "rgb(255, 255, 255)" != dark
    assert driver.execute_script(text) == "rgb(26, 29, 34)"
    click(driver, "#theme")
    assert background(driver) == dark


def test_a_phone_never_scrolls_sideways(start, pictures):
    driver = start(phone=True)
    assert driver.execute_script("return innerWidth") == PHONE[0]
    for name in SECTIONS:
        click(driver, f"#tab-{name}")
        assert overflow(driver) <= 0
        picture(driver, pictures / f"phone-{name}.png")
    click(driver, "#tab-charts")
    assert shown(driver, ".narrow svg") and not shown(driver, ".wide svg")
    font = driver.execute_script(
        "const t = document.querySelector('.narrow svg text');"
        "return parseFloat(getComputedStyle(t).fontSize) * t.getCTM().a"
    )
    assert font >= 9


@pytest.mark.long
@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize(
    ("dark", "phone"), [(False, False), (True, True)], ids=["laptop", "phone in the dark"]
)
def test_axe_finds_nothing_in_a_part(dark, phone, name, start):
    axe = pytest.importorskip("axe_core_python.selenium", reason="needs the pip extra docs").Axe()
    driver = start(dark=dark, phone=phone)
    click(driver, f"#tab-{name}")
    found = axe.run(driver, options={"resultTypes": ["violations"]})["violations"]
    assert [(one["id"], one["help"]) for one in found] == []


def test_without_a_script_everything_is_shown(start):
    driver = start(script=False)
    panels = [panel.get_attribute("id") for panel in shown(driver, ".panel")]
    assert panels == list(SECTIONS)
    assert not shown(driver, ".tabs, .controls, #theme, input[data-toggles]")
    assert shown(driver, ".wide svg")


def test_print_has_every_part_and_no_controls(start, pictures):
    driver = start()
    page = {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", page)["data"])
    assert data.startswith(b"%PDF")
    (pictures / "print.pdf").write_bytes(data)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    panels = [panel.get_attribute("id") for panel in shown(driver, ".panel")]
    assert panels == list(SECTIONS)
    assert not shown(driver, ".tabs, .controls, #theme")
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    details = find(driver, "details")
    assert len(details) > 20 and all(one.get_attribute("open") for one in details)
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not shown(driver, "#receipts dl")
