import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseCampaignsCommand } from './campaigns-command.ts'

const ENTITY = ['--account', '3', '--entity', 'campaign:120200000000003001']
const PLACE = { adAccountId: 3, type: 'campaign', id: '120200000000003001' }

it('says what to do with which campaign of which ad account', () => {
  const cases: [string[], object][] = [
    [['list', '--account', '3'], { adAccountId: 3, task: 'list' }],
    [
      ['set', ...ENTITY, '--status', 'paused', '--budget', '900'],
      change({ status: 'paused', dailyBudgetMinor: 900, name: undefined }),
    ],
    [
      ['set', ...ENTITY, '--name', '<b>Hostile</b>\u202e'],
      change({ status: undefined, dailyBudgetMinor: undefined, name: '<b>Hostile</b>\u202e' }),
    ],
    [
      ['fault', ...ENTITY, '--next', 'altered'],
      { adAccountId: 3, task: 'fault', place: PLACE, fault: 'altered' },
    ],
    [
      ['fault', ...ENTITY, '--next', 'none'],
      { adAccountId: 3, task: 'fault', place: PLACE, fault: null },
    ],
  ]
  for (const [list, expected] of cases) assert.deepEqual(parseCampaignsCommand(list), expected)
})

it('says how it is used when anything is missing, wrong or too much', () => {
  const wrong = [
    [],
    ['list'],
    ['remove', '--account', '3'],
    ['list', '--account', '0'],
    ['list', '--account', 'x'],
    ['list', ...ENTITY],
    ['list', '--account', '3', '--status', 'paused'],
    ['list', '--account', '3', 'more'],
    ['list', '--account', '3', '--port', '80'],
    ['set', ...ENTITY],
    ['set', '--account', '3', '--status', 'paused'],
    ['set', ...ENTITY, '--status', 'deleted'],
    ['set', ...ENTITY, '--budget', '0'],
    ['set', ...ENTITY, '--budget', '1.5'],
    ['set', ...ENTITY, '--budget', '2147483648'],
    ['set', ...ENTITY, '--name', ''],
    ['set', ...ENTITY, '--name', 'x'.repeat(256)],
    ['set', ...ENTITY, '--status', 'paused', '--next', 'none'],
    ['set', '--account', '3', '--entity', 'campaign', '--status', 'paused'],
    ['set', '--account', '3', '--entity', 'campaign:01', '--status', 'paused'],
    ['set', '--account', '3', '--entity', 'campaign:1:2', '--status', 'paused'],
    ['set', '--account', '3', '--entity', 'keyword:1', '--status', 'paused'],
    ['fault', ...ENTITY],
    ['fault', ...ENTITY, '--next', 'broken'],
    ['fault', ...ENTITY, '--next', 'none', '--status', 'paused'],
  ]
  for (const list of wrong) {
    const usage = /^StartError: Usage: npm run campaigns -- list --account ID \| set/
    assert.throws(() => parseCampaignsCommand(list), usage, list.join(' '))
  }
})

function change(change: object) {
  return { adAccountId: 3, task: 'set', place: PLACE, change }
}
