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
import { keysOf } from '../contract/closed-set.ts'
import { DELIVERY_STATUSES } from '../contract/deliveries.ts'
import { DELIVERY_REASONS } from '../contract/reasons.ts'
import { ACTION_TRANSITIONS, INITIAL_ACTION_STATUSES } from '../service/agents/proposals/action.ts'
import { deriveBatchStatus } from '../service/agents/proposals/proposal-view.ts'
import { CIRCUIT_TRANSITIONS } from '../service/signals/delivery/circuit-breaker.ts'
import {
  INITIAL_STATUSES,
  STATUS_TRANSITIONS,
} from '../service/signals/delivery/delivery-status.ts'

const page = readFileSync(join(import.meta.dirname, 'states.md'), 'utf8')
const [, deliveryPart = '', destinationPart = '', circuitPart = '', ...agentParts] =
  page.split(/^## /m)
const [actionPart = '', batchPart = ''] = agentParts

const transitionsInCode = Object.entries(STATUS_TRANSITIONS)
  .flatMap(([from, nexts]) => nexts.map(next => `${from} -> ${next}`))
  .sort()
const initialInCode = INITIAL_STATUSES.map(status => `[*] -> ${status}`)

it('the table lists exactly the delivery transitions of the code', () => {
  assert.match(deliveryPart, /^Delivery/)
  const rows = rowsBelow(deliveryPart, '### Delivery transitions')
  assert.deepEqual(rows.map(([from, to]) => `${from} -> ${to}`).sort(), transitionsInCode)
})

it('the diagram shows exactly the delivery transitions of the code', () => {
  const diagram = readDiagram(deliveryPart)
  assert.deepEqual(diagram.sort(), [...initialInCode, ...transitionsInCode].sort())
})

it('the page lists the initial delivery statuses', () => {
  const rows = rowsBelow(deliveryPart, '### Initial delivery statuses')
  assert.deepEqual(
    rows.map(([status]) => status),
    INITIAL_STATUSES,
  )
})

it('the page explains exactly the delivery statuses of the contract', () => {
  const rows = rowsBelow(deliveryPart, '### Delivery statuses')
  const explained = rows.map(([status]) => String(status))
  assert.deepEqual(explained.sort(), [...DELIVERY_STATUSES].sort())
})

it('the page explains exactly the reasons of each delivery status', () => {
  const rows = rowsBelow(deliveryPart, '### Delivery reasons')
  const inCode = keysOf(DELIVERY_REASONS).flatMap(status =>
    DELIVERY_REASONS[status].map(reason => `${status} ${reason}`),
  )
  assert.deepEqual(
    rows.map(([status, reason]) => `${status} ${reason}`),
    inCode,
  )
})

it('the diagram and the table of the destination agree', () => {
  assert.match(destinationPart, /^Destination/)
  const rows = rowsBelow(destinationPart, 'Destination')
  const table = rows.map(([from, to]) => `${from} -> ${to}`)
  assert.deepEqual(readDiagram(destinationPart), ['[*] -> active', ...table])
})

it('the diagram and the tables show exactly the states and transitions of a circuit', () => {
  assert.match(circuitPart, /^Circuit/)
  const transitions = Object.entries(CIRCUIT_TRANSITIONS).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  assert.deepEqual(readDiagram(circuitPart), ['[*] -> closed', ...transitions])
  const rows = rowsBelow(circuitPart, '### Circuit transitions')
  assert.deepEqual(
    rows.map(([from, to]) => `${from} -> ${to}`),
    transitions,
  )
  assert.deepEqual(
    rowsBelow(circuitPart, 'Circuit').map(([state]) => state),
    Object.keys(CIRCUIT_TRANSITIONS),
  )
})

it('the diagram and the tables show exactly the transitions of an action', () => {
  assert.match(actionPart, /^Action/)
  const transitions = Object.entries(ACTION_TRANSITIONS).flatMap(([from, nexts]) =>
    nexts.map(next => `${from} -> ${next}`),
  )
  const initial = INITIAL_ACTION_STATUSES.map(status => `[*] -> ${status}`)
  assert.deepEqual(readDiagram(actionPart).sort(), [...initial, ...transitions].sort())
  const rows = rowsBelow(actionPart, '### Action transitions')
  assert.deepEqual(rows.map(([from, to]) => `${from} -> ${to}`).sort(), transitions.sort())
  assert.deepEqual(
    rowsBelow(actionPart, '### Initial action statuses').map(([status]) => status),
    INITIAL_ACTION_STATUSES,
  )
})

it('the page explains exactly the statuses and outcomes of an action', () => {
  const rows = rowsBelow(actionPart, '### Action statuses')
  assert.deepEqual(rows.map(([status]) => status).sort(), [...ACTION_STATUSES].sort())
  const when = rowsBelow(actionPart, '### Action transitions').map(([, , text]) => text)
  const named = ACTION_OUTCOMES.filter(outcome => when.some(text => text?.includes(outcome)))
  assert.deepEqual(named, ACTION_OUTCOMES)
})

it('the page explains every batch status in the order of precedence', () => {
  assert.match(batchPart, /^Batch/)
  const explained = rowsBelow(batchPart, 'Batch').map(([status]) => String(status))
  assert.deepEqual([...explained].sort(), [...BATCH_STATUSES].sort())
  // The row further up wins, except that `completed` needs every action to be verified.
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

/** The cells of the first table after a heading, without the header row and backticks. */
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

/** The arrows of the first Mermaid diagram, with aliases resolved. */
function readDiagram(text: string): string[] {
  const diagram = /```mermaid\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const names = new Map(
    [...diagram.matchAll(/state "([^"]+)" as (\w+)/g)].map(([, name, alias]) => [alias, name]),
  )
  return [...diagram.matchAll(/^ *(\S+) --> (\S+)$/gm)].map(
    ([, from = '', to = '']) => `${names.get(from) ?? from} -> ${names.get(to) ?? to}`,
  )
}
