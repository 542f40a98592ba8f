import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import {
  ACTION_OUTCOMES,
  ACTION_STATUSES,
  type ActionStatus,
  BATCH_STATUSES,
} from '../contract/agents/actions.ts'
import { DELIVERY_STATUSES } from '../contract/deliveries.ts'
import { ACTION_TRANSITIONS, INITIAL_ACTION_STATUSES } from '../service/agents/proposals/action.ts'
import { deriveBatchStatus } from '../service/agents/proposals/proposal-view.ts'
import { CIRCUIT_TRANSITIONS } from '../service/delivery/circuit-breaker.ts'
import { INITIAL_STATUSES, STATUS_TRANSITIONS } from '../service/delivery/delivery-status.ts'

const page = readFileSync(join(import.meta.dirname, 'states.md'), 'utf8')
const [, deliveryPart = '', destinationPart = '', circuitPart = '', ...agentParts] =
  page.split(/^## /m)
const [actionPart = '', batchPart = ''] = agentParts

const movesInCode = Object.entries(STATUS_TRANSITIONS)
  .flatMap(([from, nexts]) => nexts.map(next => `${from} -> ${next}`))
  .sort()
const birthsInCode = INITIAL_STATUSES.map(status => `[*] -> ${status}`)

it('the table of the page has every move of the code once, and no other', () => {
  assert.match(deliveryPart, /^Delivery/)
  const rows = rowsBelow(deliveryPart, '### Every move')
  assert.deepEqual(rows.map(([from, to]) => `${from} -> ${to}`).sort(), movesInCode)
})

it('the picture of the page has every move and every birth of the code, and no other', () => {
  const picture = picturedMoves(deliveryPart)
  assert.deepEqual(picture.sort(), [...birthsInCode, ...movesInCode].sort())
})

it('the page says where a delivery may begin', () => {
  const rows = rowsBelow(deliveryPart, '### Where a delivery begins')
  assert.deepEqual(
    rows.map(([status]) => status),
    INITIAL_STATUSES,
  )
})

it('the page explains every status of the contract, and no other', () => {
  const rows = rowsBelow(deliveryPart, '### What each status means')
  const explained = rows.map(([status]) => String(status))
  assert.deepEqual(explained.sort(), [...DELIVERY_STATUSES].sort())
})

it('the picture and the table of the destination agree', () => {
  assert.match(destinationPart, /^Destination/)
  const rows = rowsBelow(destinationPart, 'Destination')
  const table = rows.map(([from, to]) => `${from} -> ${to}`)
  assert.deepEqual(picturedMoves(destinationPart), ['[*] -> active', ...table])
})

it('the picture and the tables of the circuit have its states and moves, and no other', () => {
  assert.match(circuitPart, /^Circuit/)
  const moves = Object.entries(CIRCUIT_TRANSITIONS).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  assert.deepEqual(picturedMoves(circuitPart), ['[*] -> closed', ...moves])
  const rows = rowsBelow(circuitPart, '### Every move')
  assert.deepEqual(
    rows.map(([from, to]) => `${from} -> ${to}`),
    moves,
  )
  assert.deepEqual(
    rowsBelow(circuitPart, 'Circuit').map(([state]) => state),
    Object.keys(CIRCUIT_TRANSITIONS),
  )
})

it('the picture and the tables of the action have its births and moves, and no other', () => {
  assert.match(actionPart, /^Action/)
  const moves = Object.entries(ACTION_TRANSITIONS).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  const births = INITIAL_ACTION_STATUSES.map(status => `[*] -> ${status}`)
  assert.deepEqual(picturedMoves(actionPart).sort(), [...births, ...moves].sort())
  const rows = rowsBelow(actionPart, '### Every move of an action')
  assert.deepEqual(rows.map(([from, to]) => `${from} -> ${to}`).sort(), moves.sort())
  assert.deepEqual(
    rowsBelow(actionPart, '### Where an action begins').map(([status]) => status),
    INITIAL_ACTION_STATUSES,
  )
})

it('the page explains every status and every outcome of an action, and no other', () => {
  const rows = rowsBelow(actionPart, '### What each status of an action means')
  assert.deepEqual(rows.map(([status]) => status).sort(), [...ACTION_STATUSES].sort())
  const when = rowsBelow(actionPart, '### Every move of an action').map(([, , text]) => text)
  const named = ACTION_OUTCOMES.filter(outcome => when.some(text => text?.includes(outcome)))
  assert.deepEqual(named, ACTION_OUTCOMES)
})

it('the page explains every status of a batch in the order in which they are looked for', () => {
  assert.match(batchPart, /^Batch/)
  const explained = rowsBelow(batchPart, 'Batch').map(([status]) => String(status))
  assert.deepEqual([...explained].sort(), [...BATCH_STATUSES].sort())
  // Beside an action of the same kind, one that belongs to a line further down changes nothing,
  // but for what was verified, which is complete only alone.
  const lineOf = (...statuses: ActionStatus[]) => explained.indexOf(deriveBatchStatus(statuses))
  for (const one of ACTION_STATUSES) {
    for (const other of ACTION_STATUSES) {
      const [first, second] = [lineOf(one), lineOf(other)]
      const expected = Math.min(first, second)
      const isMixed = first !== second && explained[expected] === 'completed'
      assert.equal(lineOf(one, other), isMixed ? expected + 1 : expected, `${one} ${other}`)
    }
  }
})

/** The cells of the first table after a heading, without its head and without backticks. */
function rowsBelow(text: string, heading: string): string[][] {
  const after = text.slice(text.indexOf(heading))
  const table = /(?:^\|.*\|\n)+/m.exec(after)?.[0] ?? ''
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim().replaceAll('`', '')),
    )
}

/** The arrows of the first Mermaid picture, with the names that its aliases stand for. */
function picturedMoves(text: string): string[] {
  const picture = /```mermaid\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const names = new Map(
    [...picture.matchAll(/state "([^"]+)" as (\w+)/g)].map(([, name, alias]) => [alias, name]),
  )
  return [...picture.matchAll(/^ *(\S+) --> (\S+)$/gm)].map(
    ([, from = '', to = '']) => `${names.get(from) ?? from} -> ${names.get(to) ?? to}`,
  )
}
