import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseClientCommand } from './client-command.ts'

it('reads what is asked', () => {
  assert.deepEqual(parseClientCommand(['list']), { task: 'list' })
  assert.deepEqual(parseClientCommand(['add', '--name', ' Terminal ']), {
    task: 'add',
    name: 'Terminal',
  })
})

it('says how it is used to everything else', () => {
  for (const list of [
    [],
    ['remove'],
    ['list', '--name', 'x'],
    ['add'],
    ['add', 'Terminal'],
    ['add', '--name', 'x', '--more'],
  ]) {
    assert.throws(() => parseClientCommand(list), /^StartError: Usage: npm run client -- list/)
  }
})

it('refuses a name that nobody could read on one line', () => {
  for (const name of ['', ' ', 'two\nlines', 'turned \u202e', 'x'.repeat(101)]) {
    assert.throws(
      () => parseClientCommand(['add', '--name', name]),
      /--name takes one visible line/,
    )
  }
})
