import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Command } from 'commander'
import { parseRequest } from '../../../testing/fixtures/command-line.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { defineAuditCommand } from './audit-command.ts'
import { defineCampaignsCommand } from './campaigns-command.ts'
import { defineClientCommand } from './client-command.ts'
import { defineCredentialCommand } from './credential-command.ts'
import { defineKeyCommand } from './key-command.ts'
import { definePeopleCommand } from './people-command.ts'
import { defineProvisionCommand } from './provision-command.ts'
import { defineReportCommand } from './report-command.ts'

const PLATFORM_NAMES = [...createOfflinePlatforms().names].join(', ')

const ID = '0190aaaa-0000-7000-8000-00000000000a'
const TRACKER = { trackerId: ID }
const ENTITY = { type: 'campaign', id: '120200000000003001' }
const ENTITY_OPTIONS = ['--account', '3', '--entity', 'campaign:120200000000003001']
const LOCATION = { adAccountId: 3, ...ENTITY }

type Define = (handle: (request: unknown) => Promise<void>) => Command

async function assertRequests(define: unknown, cases: [string, object][]) {
  for (const [line, expected] of cases) {
    const request = await parseRequest(define as Define, splitLine(line))
    assert.deepEqual(request, expected, line)
  }
}

/** Every case names the option or argument, and what the command takes. */
async function assertRefusals(define: unknown, cases: [string, string | RegExp][]) {
  for (const [line, message] of cases) {
    const expected = { name: 'StartError', message }
    await assert.rejects(parseRequest(define as Define, splitLine(line)), expected, line)
  }
}

function splitLine(line: string): string[] {
  return line === '' ? [] : line.split(' ')
}

const TRACKER_REFUSAL =
  '--tracker takes the ID of a tracker, as "signalbox-server credential list" shows it, or of ' +
  'its workspace, not x.'

it('key reads a tracker, a kind, a file and origins', async () => {
  const [tracker, upperCase] = [TRACKER, ID.toUpperCase()]
  await assertRequests(defineKeyCommand, [
    [`list --tracker ${upperCase}`, { task: 'list', tracker }],
    ['list --tracker 7', { task: 'list', tracker: { workspaceId: 7 } }],
    [
      `issue --tracker ${ID} --out /keys/new.json --kind publishable ` +
        '--origin https://Shop.example --origin=http://[::1]:*',
      {
        task: 'issue',
        tracker,
        kind: 'publishable',
        origins: ['https://shop.example', 'http://[::1]:*'],
        path: '/keys/new.json',
      },
    ],
    [
      `issue --tracker ${ID} --out /keys/new.json --kind secret`,
      { task: 'issue', tracker, kind: 'tracker_secret', origins: [], path: '/keys/new.json' },
    ],
    [
      `revoke --tracker ${ID} --last c0de`,
      { task: 'revoke', tracker, lastCharacters: 'c0de', kind: null },
    ],
    [
      `revoke --tracker ${ID} --last c0de --kind secret`,
      { task: 'revoke', tracker, lastCharacters: 'c0de', kind: 'tracker_secret' },
    ],
  ])
})

it('key refuses what is missing, unknown or of the wrong form', async () => {
  const issue = `issue --tracker ${ID} --out x.json`
  const origins = ' --origin https://shop.example'.repeat(21)
  await assertRefusals(defineKeyCommand, [
    ['list', '--tracker <id> is required: ID of the tracker or of its workspace.'],
    ['list --tracker', '--tracker <id> needs a value: ID of the tracker or of its workspace.'],
    ['list --tracker x', TRACKER_REFUSAL],
    [`list --tracker ${ID} --kind secret`, 'command list takes --tracker <id>, not --kind.'],
    [`list --tracker ${ID} more`, 'command list takes --tracker <id>, not more.'],
    ['show', 'There is no command show of command; use one of list, issue, revoke.'],
    [issue, '--kind <kind> is required: publishable, forwarding or secret.'],
    [
      `${issue} --kind tracker_secret`,
      '--kind takes one of publishable, forwarding, secret, not tracker_secret.',
    ],
    [
      `${issue} --kind secret --origin https://shop.example`,
      '--origin is for publishable keys only.',
    ],
    [`${issue} --kind publishable${origins}`, 'A publishable key has at most 20 origins.'],
    [`revoke --tracker ${ID}`, /^--last <characters> is required: last four characters of /],
    [`revoke --tracker ${ID} --last c0de --out x`, /^command revoke takes .+, not --out\.$/],
  ])
  for (const origin of ['shop.example', 'https://shop.example/', '*', 'https://*.com']) {
    await assertRefusals(defineKeyCommand, [
      [
        `${issue} --kind publishable --origin ${origin}`,
        '--origin takes what browsers send, such as https://shop.example, or one of the ' +
          'wildcards https://*.shop.example and http://127.0.0.1:*, not ' +
          `${origin}.`,
      ],
    ])
  }
})

it('credential reads a destination, where its token is, and what changes', async () => {
  const set = { task: 'set', destinationId: ID }
  await assertRequests(defineCredentialCommand, [
    ['list', { task: 'list' }],
    ['reseal', { task: 'reseal' }],
    [
      `set --destination ${ID.toUpperCase()} --from -`,
      { ...set, tracker: null, config: {}, tokenFrom: '-' },
    ],
    [
      `set --destination ${ID} --tracker ${ID} --dataset 1234567890123456 --from token`,
      {
        ...set,
        tracker: TRACKER,
        config: { dataset_id: '1234567890123456' },
        tokenFrom: 'token',
      },
    ],
  ])
})

it('credential refuses what is missing, unknown or of the wrong form', async () => {
  const set = `set --destination ${ID} --from -`
  await assertRefusals(defineCredentialCommand, [
    ['list all', /^command list takes no arguments, not all: /],
    ['reseal --dry-run', /^command reseal takes no arguments, not --dry-run: /],
    ['set --from -', /^--destination <id> is required: /],
    [`set --destination ${ID}`, /^--from <file> is required: file that holds the token/],
    [`${set} more`, /^command set takes .+, not more\.$/],
    [`${set} --user x`, /^command set takes .+, not --user\.$/],
    [
      'set --from - --destination 7',
      '--destination takes an ID as "signalbox-server credential list" shows it, not 7.',
    ],
    [`${set} --tracker x`, TRACKER_REFUSAL],
  ])
  for (const dataset of ['12/34', 'act_1', '1'.repeat(21)]) {
    const sentence = `--dataset takes the digits of a dataset ID, not ${dataset}.`
    await assertRefusals(defineCredentialCommand, [[`${set} --dataset ${dataset}`, sentence]])
  }
})

it('report reads a day, and all trackers unless one is named', async () => {
  await assertRequests(defineReportCommand, [
    ['--date 2026-11-20', { date: '2026-11-20', tracker: null, refresh: false }],
    [
      `--date=2026-11-20 --tracker ${ID} --refresh`,
      { date: '2026-11-20', tracker: TRACKER, refresh: true },
    ],
  ])
  await assertRefusals(defineReportCommand, [
    ['', '--date <day> is required: UTC day, YYYY-MM-DD.'],
    ['--date', '--date <day> needs a value: UTC day, YYYY-MM-DD.'],
    ['--date 2026-02-30', '--date takes a day such as 2026-11-20, not 2026-02-30.'],
    ['--date 2026-11-20 --color', /^command takes --date <day>, .+, not --color\.$/],
    ['--date 2026-11-20 --tracker x', TRACKER_REFUSAL],
  ])
})

it('people reads an email address, as an argument or an option, or a workspace', async () => {
  const ada = { status: 'disabled', kind: 'person', name: 'ada@shop.example' }
  await assertRequests(definePeopleCommand, [
    ['disable ada@shop.example', ada],
    ['disable --address ada@shop.example', ada],
    ['enable --workspace 2', { status: 'active', kind: 'workspace', name: 2 }],
    ['remove-factors ada@shop.example', { ...ada, status: 'without second factors' }],
  ])
  const one = 'people disable takes one email address, or --workspace and the ID of a workspace.'
  await assertRefusals(definePeopleCommand, [
    ['disable', one],
    ['disable ada@shop.example --workspace 2', one],
    ['disable Ada', 'people disable takes an email address, not Ada.'],
    ['disable --workspace x', '--workspace takes an ID, a whole number such as 1, not x.'],
  ])
})

const META = { platform: 'meta', config: { dataset_id: '123' }, tokenFrom: '-' }

it('provision reads a file, an owner, origins, and a target with its token', async () => {
  const page = { origins: [], sharesPageIds: false }
  const defaults = { path: '/x.json', workspaceName: 'Workspace', routingFrom: undefined, ...page }
  await assertRequests(defineProvisionCommand, [
    ['--out /x.json --without-owner', { ...defaults, owner: undefined, connection: undefined }],
    [
      '--out /x.json --name Shop --owner ada@shop.example --dataset 123 --token-from -',
      { ...defaults, workspaceName: 'Shop', owner: 'ada@shop.example', connection: META },
    ],
  ])
  await assertRefusals(defineProvisionCommand, [
    ['--name Shop', '--out <file> is required: new file to write the credentials to.'],
    ['--out /x.json --without-owner --dataset 123', /^Meta needs more .+\n {2}--token-from FILE /],
    [
      '--out /x.json --without-owner --token-from -',
      /^Meta needs more .+\n {2}--target dataset_id=VALUE /,
    ],
    ['--out /x.json --platform nope', `--platform takes one of ${PLATFORM_NAMES}, not nope.`],
    ['--out /x.json --owner Ada', '--owner takes an email address, not Ada.'],
  ])
})

it('client reads a name of one visible line', async () => {
  await assertRequests(defineClientCommand, [
    ['list --after abc', { task: 'list', after: 'abc' }],
    ['add --name Terminal', { task: 'add', name: 'Terminal' }],
  ])
  await assertRefusals(defineClientCommand, [
    ['remove', 'There is no command remove of command; use one of list, add.'],
    ['add', /^--name <name> is required: /],
    [`add --name ${'x'.repeat(101)}`, '--name takes one visible line of at most 100 characters.'],
    ['add --name \u200b', '--name takes one visible line of at most 100 characters.'],
  ])
})

it('audit reads a workspace, a head and a file', async () => {
  await assertRequests(defineAuditCommand, [
    ['verify', { task: 'verify', workspaceId: null, headPath: null }],
    [
      'verify --workspace 7 --head log.ndjson',
      { task: 'verify', workspaceId: 7, headPath: 'log.ndjson' },
    ],
    ['export --workspace 7', { task: 'export', workspaceId: 7, path: null }],
    [
      'export --workspace 7 --out log.ndjson',
      { task: 'export', workspaceId: 7, path: 'log.ndjson' },
    ],
    ['sign --workspace 7', { task: 'sign', workspaceId: 7 }],
  ])
  const workspace = (text: string) =>
    `--workspace takes an ID, a whole number such as 1, not ${text}.`
  await assertRefusals(defineAuditCommand, [
    ['show', 'There is no command show of command; use one of verify, export, events, sign.'],
    ['export', '--workspace <id> is required: ID of the workspace.'],
    ['export --workspace x', workspace('x')],
    ['verify --workspace 0', workspace('0')],
    ['export --workspace 7 --head x', /^command export takes .+, not --head\.$/],
    ['verify 7', /^command verify takes .+, not 7\.$/],
  ])
})

const BUDGETS = { dailyBudgetMinor: undefined, lifetimeBudgetMinor: undefined }
const UNCHANGED = { ...BUDGETS, status: undefined, name: undefined }

it('campaigns reads an entity of an ad account and its change', async () => {
  const set = { task: 'set', adAccountId: 3, location: LOCATION }
  const fault = { task: 'fault', adAccountId: 3, location: LOCATION }
  await assertRequests(defineCampaignsCommand, [
    ['list --account 3', { task: 'list', adAccountId: 3 }],
    [
      `set ${ENTITY_OPTIONS.join(' ')} --status paused --budget 900`,
      { ...set, change: { ...UNCHANGED, status: 'paused', dailyBudgetMinor: 900 } },
    ],
    [`fault ${ENTITY_OPTIONS.join(' ')} --next altered`, { ...fault, fault: 'altered' }],
    [`fault ${ENTITY_OPTIONS.join(' ')} --next none`, { ...fault, fault: null }],
  ])
  const name = '<b>Hostile</b>\u202e'
  const named = ['set', ...ENTITY_OPTIONS, '--name', name]
  const request = await parseRequest(defineCampaignsCommand, named)
  assert.deepEqual(request, { ...set, change: { ...UNCHANGED, name } })
})

it('campaigns refuses what is missing, unknown or of the wrong form', async () => {
  const set = `set ${ENTITY_OPTIONS.join(' ')}`
  const entity = /^--entity takes ad_account, campaign, ad_set, ad and an ID, such as /
  const budget = /^--budget takes a whole number of minor units from 1 to 2147483647, not /
  await assertRefusals(defineCampaignsCommand, [
    ['list', '--account <id> is required: ID of the ad account.'],
    ['list --account 0', '--account takes an ID, a whole number such as 1, not 0.'],
    ['list --account 3 --status paused', /^command list takes --account <id>, not --status\.$/],
    [set, 'campaigns set needs at least one of --status, --budget, --lifetime-budget and --name.'],
    ['set --account 3 --status paused', /^--entity <type:id> is required: /],
    [`${set} --status deleted`, '--status takes one of active, paused, not deleted.'],
    [`${set} --budget 0`, budget],
    [`${set} --budget 1.5`, budget],
    [`${set} --budget 2147483648`, budget],
    [`${set} --name ${'x'.repeat(256)}`, '--name takes 1 to 255 characters.'],
    ['set --account 3 --entity campaign --status paused', entity],
    ['set --account 3 --entity campaign:01 --status paused', entity],
    ['set --account 3 --entity campaign:1:2 --status paused', entity],
    ['set --account 3 --entity keyword:1 --status paused', entity],
    [`fault ${ENTITY_OPTIONS.join(' ')}`, '--next <fault> is required: ignored, altered or none.'],
    [
      `fault ${ENTITY_OPTIONS.join(' ')} --next broken`,
      /^--next takes one of .*none, not broken\.$/,
    ],
  ])
})
