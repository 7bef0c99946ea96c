// No, not by oneself, and not by whoever is not asked.
import { line, send } from '../support/steps';
import { FOREIGN_TEAM, expect, test, type Page } from '../support/test';

const OFFERING = 'A100 3g.40gb';

/** Posts a form of the page at hand without its button, as somebody would who makes up requests. */
async function post(page: Page, path: string, form: Record<string, string>) {
  const csrf = await page.locator('input[name=csrf]').first().inputValue();
  const origin = new URL(page.url()).origin;
  return page.request.post(path, { form: { csrf, ...form }, headers: { origin }, maxRedirects: 0 });
}

test('a denial needs a reason, and the team sees it', async ({ as }) => {
  const purpose = 'Rendering of the new worlds';
  const member = await as('member');
  await send(member, 'simulation', { offering: OFFERING, nodes: 1, perNode: 2, purpose });

  const approver = await as('approver');
  await approver.goto('/inbox');
  const wanted = line(approver, purpose);
  await wanted.locator('summary').click();
  await wanted.getByLabel('Reason, which the team sees').fill('   ');
  await wanted.getByRole('button', { name: `Deny 2 × ${OFFERING}` }).click();
  await expect(approver.getByRole('alert')).toBeVisible();
  await wanted.getByLabel('Reason, which the team sees').fill('The review comes first.');
  await wanted.getByRole('button', { name: `Deny 2 × ${OFFERING}` }).click();
  await expect(approver.getByRole('status')).toContainText('is denied');
  await expect(line(approver, purpose)).toHaveCount(0);

  await member.reload();
  await expect(member.getByRole('main')).toContainText('denied');
  await expect(member.getByRole('main')).toContainText('The review comes first.');
  await expect(member.getByRole('button', { name: /^Withdraw/ })).toHaveCount(0);
});

test('a member who posts the approval themself is refused', async ({ as }) => {
  const member = await as('member');
  await send(member, 'simulation', { offering: OFFERING, nodes: 1, perNode: 1, purpose: 'By myself' });
  const path = new URL(member.url()).pathname;
  const answer = await post(member, `${path}/approve`, {});
  expect(answer.status()).toBe(403);
  await member.reload();
  await expect(member.getByRole('main')).toContainText('waiting');
});

test('nobody approves their own request', async ({ as }) => {
  const purpose = 'Voices for the announcement';
  const admin = await as('admin');
  await admin.goto('/teams/speech/members');
  await admin.getByLabel('Login').fill('admin');
  await admin.getByLabel('Role', { exact: true }).selectOption('member');
  await admin.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(admin.getByRole('status')).toContainText('admin is now member of this team');

  await send(admin, 'speech', { offering: OFFERING, nodes: 1, perNode: 1, purpose });
  const path = new URL(admin.url()).pathname;
  await expect(admin.getByRole('main')).toContainText('another approver decides it');
  await expect(admin.getByRole('button', { name: /^Approve/ })).toHaveCount(0);
  await admin.goto('/inbox');
  await expect(line(admin, purpose)).toContainText('another approver decides it');
  await expect(line(admin, purpose).getByRole('button', { name: /^Approve/ })).toHaveCount(0);
  const answer = await post(admin, `${path}/approve`, {});
  expect([403, 409]).toContain(answer.status());

  const approver = await as('approver');
  await approver.goto('/inbox');
  await line(approver, purpose).getByRole('button', { name: /^Approve/ }).click();
  await expect(approver.getByRole('status')).toContainText('is approved');
});

test('above the amount of the rule two people approve', async ({ as }) => {
  const purpose = 'Notebooks for the summer school';
  const member = await as('member');
  await send(member, 'vision', { offering: 'L40S, shared (soft)', nodes: 20, perNode: 1, purpose });

  const approver = await as('approver');
  await approver.goto('/inbox');
  const wanted = line(approver, purpose);
  await expect(wanted).toContainText('0 of 2 approvals');
  await wanted.getByRole('button', { name: /^Approve/ }).click();
  await expect(approver.getByRole('status')).toContainText('a second person must approve it too');
  await expect(wanted).toContainText('1 of 2 approvals');
  // The same person is not two.
  await expect(wanted.getByRole('button', { name: /^Approve/ })).toHaveCount(0);

  const admin = await as('admin');
  await admin.goto('/inbox');
  await line(admin, purpose).getByRole('button', { name: /^Approve/ }).click();
  await expect(admin.getByRole('status')).toContainText('is approved');
});

test('what is short is refused with the numbers, and waits', async ({ as }) => {
  const purpose = 'Full retraining of the ranking model';
  const approver = await as('approver');
  await approver.goto('/inbox');
  const wanted = line(approver, purpose);
  await expect(wanted).toContainText('does not fit');
  await expect(wanted).toContainText('16 asked, 8 free of 16');
  await wanted.getByRole('button', { name: /^Approve/ }).click();
  await expect(approver.getByRole('alert')).toContainText('16 asked, 8 free of 16');
  await expect(line(approver, purpose)).toContainText('0 of 2 approvals');
});

test('the author takes a request back', async ({ as }) => {
  const member = await as('member');
  await send(member, 'vision', { offering: OFFERING, nodes: 1, perNode: 1, purpose: 'Asked too early' });
  await member.getByRole('button', { name: /^Withdraw/ }).click();
  await expect(member.getByRole('status')).toContainText('is withdrawn');
  await expect(member.getByRole('main')).toContainText('withdrawn');
});

test('a team of others is not found, by page and by API', async ({ as }) => {
  const member = await as('member');
  for (const path of ['', '/requests', '/requests/new', '/manifests', '/members']) {
    const page = await member.goto(`/teams/${FOREIGN_TEAM}${path}`);
    expect(page!.status(), path).toBe(404);
    await expect(member.getByRole('heading', { level: 1 })).toHaveText('Not found');
    await expect(member.getByRole('main').getByRole('link')).not.toHaveCount(0);
  }
  const api = await member.request.get(`/api/v1/teams/${FOREIGN_TEAM}/quota`);
  expect(api.status()).toBe(404);
  const admin = await as('admin');
  const seen = await admin.goto(`/teams/${FOREIGN_TEAM}`);
  expect(seen!.status()).toBe(200);
});

test('a viewer reads and does not ask', async ({ as }) => {
  const member = await as('member');
  await member.goto('/teams/speech');
  await expect(member.getByRole('link', { name: 'Request GPUs' })).toHaveCount(0);
  const page = await member.goto('/teams/speech/requests/new');
  expect(page!.status()).toBe(403);
  await expect(member.getByRole('heading', { level: 1 })).toHaveText('You may not ask for this team');
});
