// The portal as people use it: a server of its own for each worker, the system's Chromium, with scripts and without.
import { defineConfig, devices } from '@playwright/test';
import { browser } from './support/paths';

export default defineConfig({
  testDir: 'specs',
  outputDir: 'results',
  // A debug build on two cores: generous where something is waited for, but nothing is tried twice.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  workers: 2,
  retries: 0,
  forbidOnly: true,
  reporter: [['list'], ['html', { outputFolder: 'report', open: 'never' }]],
  use: {
    ...devices['Desktop Chrome'],
    launchOptions: { executablePath: browser() },
    actionTimeout: 20_000,
    navigationTimeout: 30_000,
    locale: 'en-GB',
    timezoneId: 'UTC',
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'javascript' },
    {
      name: 'no-javascript',
      use: { javaScriptEnabled: false },
      testIgnore: ['accessibility.spec.ts', 'islands.spec.ts'],
    },
  ],
});
