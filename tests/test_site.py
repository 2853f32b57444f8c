"""The site, built strictly, read offline in a headless browser: links, search, accessibility."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = ("sphinx", "myst_parser", "furo", "numpydoc", "sphinx_click")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in GENERATOR),
        reason="needs the pip extra docs",
    ),
]
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER and importlib.util.find_spec("selenium")),
    reason="needs selenium, chromium and chromedriver",
)
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
PAGES = sorted(
    path.relative_to(ROOT / "docs").with_suffix("").as_posix()
    for path in (ROOT / "docs").rglob("*.md")
)
"""Every page that somebody wrote; the browser opens each."""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Build the site; a warning is an error. Runs of tests that name OPDISC_SITE build once."""
    out = Path(os.environ.get("OPDISC_SITE") or tmp_path_factory.mktemp("site"))
    if not (out / "errors").exists():
        command = [sys.executable, "-m", "sphinx", "-q", "-N", "-W", "--keep-going", "-b", "html"]
        done = subprocess.run(
            [*command, "-d", str(out / "doctrees"), str(ROOT / "docs"), str(out / "html")],
            capture_output=True,
            text=True,
            check=False,
        )
        out.mkdir(exist_ok=True)
        (out / "errors").write_text((done.stderr or "failed") if done.returncode else "")
    return out


@pytest.fixture
def site(build):
    """Return the folder of the site; what the build complained of fails one test and no more."""
    if errors := (build / "errors").read_text():
        if (build / "told").exists():
            pytest.skip("the site was not built, as a test before this one tells")
        (build / "told").touch()
        pytest.fail(errors, pytrace=False)
    return build / "html"


class Page(HTMLParser):
    """What the checks need to know of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.ids, self.levels, self.nameless = [], [], set(), [], []
        self.title, self._part = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note links, what is loaded, anchors, headings and images without a text."""
        given = dict(attributes)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "script" and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])
        if tag == "img" and given.get("alt") is None:
            self.nameless.append(given.get("src"))
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self._part = tag

    def handle_data(self, text):
        """Note the title of the page; a picture may have one too."""
        if self._part == "title" and not self.title:
            self.title = text.strip()


@pytest.fixture
def pages(site):
    """Return all pages but those that the generator makes of code."""
    return read_pages(site)


@cache
def read_pages(site):
    found = {path: Page(path) for path in site.rglob("*.html") if "_modules" not in path.parts}
    assert {f"{name}.html" for name in PAGES} <= {
        path.relative_to(site).as_posix() for path in found
    }
    return found


@pytest.mark.pages
def test_every_link_within_the_site_leads_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and known and anchor not in known.ids):
                broken.append(f"{path.name}: {link}")
    assert broken == []


@pytest.mark.pages
def test_nothing_is_loaded_from_elsewhere(pages):
    away = {src for page in pages.values() for src in page.loaded if urlsplit(src).netloc}
    assert away == set()


@pytest.mark.pages
def test_every_page_has_a_title_of_its_own(pages):
    seen = {}
    for path, page in pages.items():
        assert page.title, path.name
        seen.setdefault(page.title, []).append(path.name)
    assert {title: names for title, names in seen.items() if len(names) > 1} == {}


@pytest.mark.pages
def test_headings_go_down_by_one_and_pictures_have_texts(pages):
    for path, page in pages.items():
        if path.name in ("search.html", "genindex.html"):
            continue
        assert page.levels.count(1) == 1, path.name
        steps = zip(page.levels, page.levels[1:], strict=False)
        assert all(lower <= upper + 1 for upper, lower in steps), path.name
        assert page.nameless == [], path.name


@pytest.fixture(scope="module")
def browser():
    """Start one browser for all tests."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1280,900")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@needs_browser
def test_the_search_works_without_a_server(browser, site):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get((site / "index.html").as_uri())
    field = browser.find_element(By.CSS_SELECTOR, "form.sidebar-search-container input[name=q]")
    field.send_keys("permute-and-flip")
    field.submit()
    WebDriverWait(browser, 20).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#search-results li a")
    )
    first = browser.find_element(By.CSS_SELECTOR, "#search-results li a")
    first.click()
    assert "flip" in browser.find_element(By.TAG_NAME, "body").text.lower()


@needs_browser
def test_the_navigation_leads_from_the_start_to_the_tutorial_and_on(browser, site):
    from selenium.webdriver.common.by import By

    browser.get((site / "index.html").as_uri())
    browser.find_element(By.CSS_SELECTOR, ".sidebar-tree a[href='tutorial.html']").click()
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("Tutorial")
    following = browser.find_element(By.CSS_SELECTOR, "a.next-page")
    browser.execute_script("arguments[0].click()", following)
    assert "tutorial" not in browser.current_url


TYPESET = (
    "theory",
    "convex",
    "opsamp",
    "robust",
    "utility",
    "general-losses",
    "tuning",
    "published-bounds",
    "simplex-sampling",
)


@pytest.mark.pages
def test_the_pages_with_formulas_are_those_that_are_checked(site):
    with_formulas = {
        path.relative_to(site).with_suffix("").as_posix()
        for path in site.rglob("*.html")
        if re.search(r'class="math[^"]*"', path.read_text(encoding="utf-8"))
    }
    assert with_formulas == set(TYPESET)


@needs_browser
@pytest.mark.parametrize("name", TYPESET)
def test_every_formula_of_a_page_is_typeset(browser, site, name):
    browser.get((site / f"{name}.html").as_uri())
    browser.execute_async_script(
        "const done = arguments[0];"
        "const wait = () => window.MathJax && MathJax.startup && MathJax.startup.promise"
        "  ? MathJax.startup.promise.then(done) : setTimeout(wait, 50);"
        "wait();"
    )
    counts = browser.execute_script(
        "return ['.math', '.math mjx-container'].map(s => document.querySelectorAll(s).length)"
    )
    # Unknown commands are shown in red, other mistakes in a box; unbalanced braces stay text.
    broken = browser.execute_script(
        "return Array.from(document.querySelectorAll('mjx-merror, .math [mathcolor]'),"
        " node => node.closest('.math').textContent)"
    )
    assert broken == []
    assert counts[0] == counts[1] > 0


@needs_browser
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.long(2)
def test_a_page_fits_a_phone(browser, site, name):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        browser.get((site / f"{name}.html").as_uri())
        # The whole width of what is laid out, and not of a part that scrolls by itself.
        wide = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= 0


@pytest.fixture
def without_formulas(browser):
    """Keep MathJax away: its 20,000 nodes on one page are none of ours, and axe walks them all."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*mathjax*"]})
    yield browser
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})


@needs_browser
@pytest.mark.parametrize("name", [*PAGES, "genindex"])
@pytest.mark.long(2)
def test_a_page_hinders_nobody(without_formulas, site, name):
    """Contrast by day and night, names of links and controls, order of headings: axe's rules.

    Of the methods that the generator describes in one form, the first ten of a page are judged:
    hundreds of them are inherited, and axe walks all nodes for each rule.
    """
    axe = pytest.importorskip("axe_core_python.selenium", reason="needs the pip extra docs").Axe()
    browser, found = without_formulas, {}
    for scheme, rules in (("light", None), ("dark", ["color-contrast"])):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
        browser.get((site / f"{name}.html").as_uri())
        browser.execute_script(
            "document.querySelectorAll('dd > dl.py').forEach((part, i) => i < 10 || part.remove())"
        )
        options = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = {"type": "rule", "values": rules}
        for one in axe.run(browser, options=options)["violations"]:
            found[scheme, one["id"]] = [node["html"][:160] for node in one["nodes"][:3]]
    assert found == {}
