"""Photograph the server's page, light and dark: docs/images/page-light.png, page-dark.png.

    python tools/page_pictures.py docs/images/page

Serves the models of the box, opens the page in Debian's chromium, translates, points at a word.
"""

import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

PORT = 8321
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    (where,) = sys.argv[1:]
    command = [sys.executable, "-m", "regard", "serve", "demo-de", "demo-hi", "--port", str(PORT)]
    server = subprocess.Popen([*command, "--engine", "torch"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and "Serving" in server.stdout.readline()
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=OPTIONS
            )
            for scheme in ("light", "dark"):
                page = chromium.new_page(
                    color_scheme=scheme,  # type: ignore[arg-type]
                    viewport={"width": 720, "height": 400},
                    device_scale_factor=2,
                )
                page.goto(f"http://127.0.0.1:{PORT}")
                page.get_by_role("button", name="Translate").click()
                page.locator(".output .word").nth(3).hover(timeout=60_000)
                page.screenshot(path=f"{where}-{scheme}.png", full_page=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
