import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { DELIVERY_STATUSES } from '../contract/deliveries.ts'
import { CIRCUIT_MOVES } from '../service/delivery/circuit-moves.ts'
import { BIRTH_STATUSES, STATUS_MOVES } from '../service/delivery/status-moves.ts'

const page = readFileSync(join(import.meta.dirname, 'states.md'), 'utf8')
const [, deliveryPart = '', destinationPart = '', circuitPart = ''] = page.split(/^## /m)

const movesInCode = Object.entries(STATUS_MOVES)
  .flatMap(([from, nexts]) => nexts.map(next => `${from} -> ${next}`))
  .sort()
const birthsInCode = BIRTH_STATUSES.map(status => `[*] -> ${status}`)

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
    BIRTH_STATUSES,
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
  const moves = Object.entries(CIRCUIT_MOVES).flatMap(([from, nexts]) =>
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
    Object.keys(CIRCUIT_MOVES),
  )
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
