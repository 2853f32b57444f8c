"""The card opened in a headless browser: light, in the dark, on a phone, printed."""

import base64
import json
import os
import shutil
from pathlib import Path

import pytest
from helpers.opdisc.cards import released, released_cards

from opdisc.models import card_page

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
PHONE = (360, 780)
LONG = "W" * 300
FLAGS = (
    *("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "disable-sync"),
    *("disable-background-networking", "disable-component-update", "window-size=1000,900"),
)
MODEL = released(
    {
        "name": "<b>loans</b>",
        "target": {"column": "credit risk", "positive": "bad", "negative": "good"},
        "feature": [
            {"column": "months", "thresholds": [12, 24, 36]},
            {"column": "<script>document.title='changed'</script>", "binary": True},
            {"column": LONG, "categories": ["a", "b", "c"]},
            {"column": "purpose", "categories": [f"purpose {i}" for i in range(30)]},
        ],
    },
    (1, 1, 2, -1, 1, -2, 1, *range(-15, 15)),
    start=-2,
)
CARDS = released_cards(
    {
        "name": "triage",
        "target": {"column": "urgency", "classes": ["wait", LONG, "<b>soon</b>", "now"]},
        "feature": [
            {"column": "age", "thresholds": [40, 65]},
            {"column": LONG, "categories": ["a", "b", "c"]},
        ],
    },
    [(0, 1, 1, 1, 0, 1), (0, 1, 0, -1, 0, 0), (-1, 0, 2, 2, 0, 1)],
)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where page and screenshots go: the directory of OPDISC_SCREENSHOTS, or one of pytest's."""
    named = os.environ.get("OPDISC_SCREENSHOTS")
    directory = Path(named) if named else tmp_path_factory.mktemp("card")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "card.html").write_text(card_page(MODEL), encoding="utf-8")
    (directory / "cards.html").write_text(card_page(CARDS), encoding="utf-8")
    return directory


@pytest.fixture
def start(browser, place):
    """Return a function that opens the card as on the device it is told."""

    def open_card(*, dark=False, phone=False, media="", page="card.html"):
        do = browser.execute_cdp_cmd
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        do("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        do("Emulation.clearDeviceMetricsOverride", {})
        if phone:
            screen = {"width": PHONE[0], "height": PHONE[1], "deviceScaleFactor": 2}
            do("Emulation.setDeviceMetricsOverride", screen | {"mobile": True})
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get((place / page).as_uri())
        return browser

    return open_card


def picture(driver, path):
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    data = driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    path.write_bytes(base64.b64decode(data))


def overflow(driver):
    return driver.execute_script("return document.documentElement.scrollWidth - innerWidth")


def contrast(driver, selector):
    """Return the contrast of an element's text with the page (WCAG 2.2, 1.4.3)."""
    colors = driver.execute_script(
        "const c = e => getComputedStyle(e);"
        "return [c(document.querySelector(arguments[0])).color,"
        "        c(document.body).backgroundColor]",
        selector,
    )
    lights = []
    for color in colors:
        channels = [int(part) / 255 for part in color[4:-1].split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        lights.append(sum(x * w for x, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def shown(driver, selector):
    return [e for e in driver.find_elements("css selector", selector) if e.is_displayed()]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_everything_is_readable_and_nothing_scrolls_sideways(start, place, dark, phone):
    driver = start(dark=dark, phone=phone)
    assert overflow(driver) <= 0
    for selector in ("h1", ".quiet", ".for", ".against", ".rule", "dt", "li", "thead th"):
        assert contrast(driver, f".opdisc-card {selector}") >= 4.5
    assert not shown(driver, ".paper") and not shown(driver, "pre")
    picture(driver, place / f"{'dark' if dark else 'light'}-{'phone' if phone else 'desk'}.png")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_cards_for_several_classes_are_readable_too(start, place, dark, phone):
    driver = start(dark=dark, phone=phone, page="cards.html")
    assert overflow(driver) <= 0
    assert len(shown(driver, "section.part table.points")) == 3
    assert len(shown(driver, "table.sum caption")) == 2
    for selector in ("h1", "h2", ".for", ".against", ".rule", "caption", "li"):
        assert contrast(driver, f".opdisc-card {selector}") >= 4.5
    picture(
        driver, place / f"cards-{'dark' if dark else 'light'}-{'phone' if phone else 'desk'}.png"
    )


def test_several_cards_on_paper_have_boxes_and_no_closed_parts(start, place):
    driver = start(dark=True, media="print", page="cards.html")
    # Nine lines with points and three totals to write down.
    assert len(shown(driver, "td.box")) == 9 + 3
    assert not shown(driver, "details")
    page = {"printBackground": True, "preferCSSPageSize": True}
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", page)["data"])
    assert data.startswith(b"%PDF")
    (place / "cards.pdf").write_bytes(data)


def test_names_stay_text_and_nothing_is_asked_of_the_network(start, place):
    driver = start()
    assert driver.title == "Predict credit risk"
    assert "<script>document.title='changed'</script>" in driver.page_source.replace(
        "&lt;", "<"
    ).replace("&gt;", ">")
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert {u for u in asked if not u.startswith("data:")} == {(place / "card.html").as_uri()}
    assert driver.get_log("browser") == []


def test_the_whole_receipt_opens_without_a_script(start):
    driver = start()
    (summary,) = [e for e in shown(driver, "summary") if "receipt" in e.text]
    summary.click()
    assert any("staged" in element.text for element in shown(driver, "pre"))


def test_paper_has_a_column_to_write_in_and_no_closed_parts(start, place):
    driver = start(dark=True, media="print")
    assert len(shown(driver, "td.box")) == len(driver.find_elements("css selector", "td.box")) > 30
    assert not shown(driver, "details")
    back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
    page = {"printBackground": True, "preferCSSPageSize": True}
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", page)["data"])
    assert data.startswith(b"%PDF")
    (place / "card.pdf").write_bytes(data)
