// The way of a request, from the catalogue to git and back.
import { fill, line, reloadUntil } from '../support/steps';
import type { Locator } from '@playwright/test';
import { expect, test } from '../support/test';

const OFFERING = 'A100 2g.20gb';
const PURPOSE = 'Ablation of the grasp planner';

test('a team asks, an approver decides, git holds it, the lead gives a part back', async ({ as, server, javaScriptEnabled }) => {
  const member = await as('member');
  const main = member.getByRole('main');

  await test.step('the catalogue leads to the form', async () => {
    await member.getByRole('link', { name: 'Catalogue' }).click();
    const card = main.locator('.panel').filter({ has: member.getByRole('heading', { name: OFFERING }) });
    await expect(card).toContainText('16 of 16 free');
    await card.getByRole('link', { name: 'Robotics' }).click();
    await expect(member.getByRole('heading', { level: 1 })).toHaveText('Request GPUs for Robotics');
    await expect(member.getByRole('radio', { name: OFFERING })).toBeChecked();
  });

  await test.step('too many are refused with the numbers', async () => {
    const panel = member.getByRole('complementary');
    await fill(member, { offering: OFFERING, nodes: 3, perNode: 8, purpose: PURPOSE });
    if (!javaScriptEnabled) await member.getByRole('button', { name: 'Check' }).click();
    await expect(panel).toContainText('It does not fit now.');
    await expect(panel).toContainText('24 asked');
    await expect(panel).toContainText('16 free of 16');
    await member.getByRole('button', { name: 'Send the request' }).click();
    const alert = main.getByRole('alert');
    await expect(alert).toContainText('It does not fit');
    await expect(alert).toContainText('24 asked');
    await expect(alert).toContainText('16 free of 16');
    // Nothing that was entered is lost.
    await expect(member.getByLabel('Nodes', { exact: true })).toHaveValue('3');
    await expect(member.getByLabel('What for')).toHaveValue(PURPOSE);
  });

  await test.step('an amount that fits is sent', async () => {
    const panel = member.getByRole('complementary');
    await fill(member, { offering: OFFERING, nodes: 1, perNode: 4 });
    if (!javaScriptEnabled) await member.getByRole('button', { name: 'Check' }).click();
    await expect(panel).toContainText('It fits.');
    await expect(panel).toContainText(`12 × ${OFFERING} stay free after it.`);
    await member.getByRole('button', { name: 'Send the request' }).click();
    await expect(member.getByRole('status')).toContainText('it waits for approval');
    await expect(main).toContainText(PURPOSE);
  });

  await test.step('a comment stands in the history', async () => {
    await member.getByLabel('Comment').fill('Two people wait for this.\n<b>Bold</b> & plain.');
    await member.getByRole('button', { name: 'Add the comment' }).click();
    await expect(main.getByRole('listitem').filter({ hasText: 'Demo member wrote' })).toContainText('<b>Bold</b> & plain.');
    await expect(member.getByLabel('Comment')).toHaveValue('');
  });

  await test.step('a member does not decide', async () => {
    await expect(member.getByRole('button', { name: /^Approve/ })).toHaveCount(0);
    const answer = await member.goto('/inbox');
    expect(answer!.status()).toBe(404);
  });

  await test.step('the approver decides from the inbox', async () => {
    const approver = await as('approver');
    await approver.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Inbox' }).click();
    const wanted = line(approver, PURPOSE);
    await expect(wanted).toContainText(`After this: 12 of 16 ${OFFERING} left`);
    await wanted.getByRole('button', { name: `Approve 4 × ${OFFERING}` }).click();
    await expect(approver.getByRole('status')).toContainText('for robotics is approved');
    await expect(approver).toHaveURL('/inbox');
    await expect(line(approver, PURPOSE)).toHaveCount(0);
  });

  await test.step('the team holds it', async () => {
    await member.goto('/teams/robotics');
    const offering = main.locator('.panel').filter({ has: member.getByRole('heading', { name: OFFERING }) });
    await reloadUntil(member, () => expect(offering).toContainText('published', { timeout: 1000 }));
    await expect(offering).toContainText(`4 × ${OFFERING} granted`);
  });

  await test.step('the manifests say so, and git holds them', async () => {
    await member.getByRole('link', { name: 'Manifests' }).click();
    const quota = main.getByRole('group').filter({ hasText: 'ResourceQuota' });
    await quota.locator('summary').first().click();
    await expect(quota.locator('pre').first()).toContainText(/requests\.nvidia\.com\/mig-2g\.20gb: ["']?4["']?\n/);
    expect(server.log()).toMatch(/^commit robotics: .*4 × a100-2g-20gb/m);
    expect(server.file('demo/robotics/robotics/resourcequota-gpuaas.yaml')).toMatch(/requests\.nvidia\.com\/mig-2g\.20gb: ["']?4["']?\n/);
  });

  await test.step('a member does not give back, the lead does', async () => {
    await member.goto('/teams/robotics');
    await expect(main.getByRole('link', { name: 'Details' }).first()).toBeVisible();
    await expect(main.getByRole('link', { name: 'Give back' })).toHaveCount(0);
    const lead = await as('lead');
    await lead.goto('/teams/robotics');
    const offering = lead.getByRole('main').locator('.panel').filter({ has: lead.getByRole('heading', { name: OFFERING }) });
    await offering.getByRole('link', { name: 'Give back' }).click();
    await lead.getByLabel('On each of them').fill('1');
    await lead.getByRole('button', { name: 'Give back the rest' }).click();
    await expect(lead.getByRole('status')).toContainText('Given back');
    await expect(lead.getByRole('heading', { level: 1 })).toHaveText(`1 × ${OFFERING}`);
    await expect
      .poll(() => server.file('demo/robotics/robotics/resourcequota-gpuaas.yaml'), { timeout: 60_000 })
      .toMatch(/requests\.nvidia\.com\/mig-2g\.20gb: ["']?1["']?\n/);
  });
});

test('what is wrong with a form stands at the field, and what was entered stays', async ({ as }) => {
  const member = await as('member');
  await member.goto('/teams/vision/requests/new');
  await fill(member, { offering: 'H100', nodes: 1, perNode: 1, purpose: 'A lease beyond the rule' });
  await member.getByLabel('Last day (UTC)').fill('2099-01-01');
  await member.getByRole('button', { name: 'Send the request' }).click();
  const alert = member.getByRole('main').getByRole('alert');
  await expect(alert).toContainText('90 are allowed');
  await expect(member.getByLabel('What for')).toHaveValue('A lease beyond the rule');
  await expect(member.getByRole('radio', { name: 'H100' })).toBeChecked();
  const until = member.getByLabel('Last day (UTC)');
  await expect(until).toHaveAttribute('aria-invalid', 'true');
  await expect(until).toHaveAccessibleDescription(/90 are allowed/);
});

test('a double click makes one request', async ({ as }) => {
  const member = await as('member');
  const purpose = 'Clicked twice in a hurry';
  await member.goto('/teams/vision/requests/new');
  await fill(member, { offering: 'A100 2g.20gb', nodes: 1, perNode: 1, purpose });
  await member.getByRole('button', { name: 'Send the request' }).dblclick();
  await member.waitForURL(/\/requests\/[0-9A-Z]{26}$/);
  const request = member.url();
  await member.goto('/teams/vision/requests');
  await expect(member.getByRole('main').getByRole('row').filter({ hasText: purpose })).toHaveCount(1);
  await member.goto(request);
  await member.getByRole('button', { name: 'Withdraw the request' }).click();
  await expect(member.getByRole('status')).toContainText('is withdrawn');
});

test('on a narrow screen the answer stands above the button, on a wide one beside the fields', async ({ as }) => {
  const member = await as('member');
  const place = async () => {
    await member.goto('/teams/vision/requests/new');
    const box = async (locator: Locator) => (await locator.boundingBox())!;
    return {
      answer: await box(member.getByRole('complementary')),
      why: await box(member.getByLabel('What for')),
      send: await box(member.getByRole('button', { name: 'Send the request' })),
    };
  };
  await member.setViewportSize({ width: 390, height: 844 });
  const narrow = await place();
  expect(narrow.answer.y).toBeGreaterThan(narrow.why.y + narrow.why.height);
  expect(narrow.answer.y + narrow.answer.height).toBeLessThanOrEqual(narrow.send.y);
  await member.setViewportSize({ width: 1280, height: 844 });
  const wide = await place();
  expect(wide.answer.x).toBeGreaterThan(wide.why.x + wide.why.width);
  expect(wide.answer.y).toBeLessThan(wide.why.y);
});

test('nobody observes a cluster that is written to git, and no page pretends to', async ({ as }) => {
  const member = await as('member');
  await member.goto('/');
  await expect(member.getByRole('main')).toContainText('use is not observed');
  await expect(member.getByRole('main')).not.toContainText('in use');
  await member.goto('/teams/vision');
  await expect(member.getByRole('main')).toContainText('Use is not observed');
  await expect(member.getByRole('main')).not.toContainText('free to use');
  const admin = await as('admin');
  await admin.goto('/admin');
  await expect(admin.getByRole('main')).toContainText('their use is not observed');
  await expect(admin.getByRole('main')).not.toContainText('granted, not used');
  await admin.goto('/admin/fleet');
  await expect(admin.getByRole('main')).toContainText('written to git');
  await expect(admin.getByRole('main')).not.toContainText('in use');
});

test('as long as a team holds no more than the rule allows, nobody has to decide', async ({ as }) => {
  const member = await as('member');
  await member.goto('/teams/robotics/requests/new?offering=l40s-shared');
  await fill(member, { offering: 'L40S', nodes: 1, perNode: 1, purpose: 'One more demo' });
  await member.getByRole('button', { name: 'Send the request' }).click();
  await expect(member.getByRole('status')).toContainText('is granted');

  // Many small ones are one large one: the team language holds as many as the rule allows.
  await member.goto('/teams/language/requests/new?offering=l40s-shared');
  await fill(member, { offering: 'L40S', nodes: 1, perNode: 1, purpose: 'One more than that' });
  await member.getByRole('button', { name: 'Send the request' }).click();
  await expect(member.getByRole('main')).toContainText('waiting');
});
