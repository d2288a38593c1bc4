// A real browser, and what can be measured in it.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const executablePath = process.env.BERTH_CHROMIUM ?? '/usr/bin/chromium';

/** For `{ skip: … }` of a test. */
export const withoutChromium = existsSync(executablePath) ? false : `needs Chromium (${executablePath}, or set BERTH_CHROMIUM)`;

export const launchChromium = () => chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

/** The least contrast of text on its ground (WCAG 2.1, 1.4.3). */
export const leastContrast = (page) =>
  page.evaluate(() => {
    const parse = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);
    const light = (color) => {
      const [r, g, b] = parse(color).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const { backgroundColor } = getComputedStyle(at);
        if (!/, 0\)$/.test(backgroundColor)) return backgroundColor;
      }
      return 'rgb(255, 255, 255)';
    };
    return Math.min(...[...document.querySelectorAll('h1, h2, p, a, dt, dd, small, strong, label, button, code, footer p, header')].map((node) => {
      const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }));
  });

/** Nothing has to be scrolled sideways. */
export const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
