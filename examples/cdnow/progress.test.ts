import assert from 'node:assert/strict'
import { it } from 'node:test'
import { showProgress } from './progress.ts'

it('updates one line of a terminal at most a hundred times', () => {
  const written = shown(true, 1_000)
  assert.equal(written.length, 100)
  assert.equal(written[0], `\rsent [${'.'.repeat(30)}] 10/1000`)
  assert.equal(written.at(-1), `\rsent [${'#'.repeat(30)}] 1000/1000\n`)
})

it('writes ten plain lines without a terminal', () => {
  const written = shown(false, 1_000)
  assert.equal(written.length, 10)
  assert.equal(written.join(''), written.map((_, index) => `sent ${index + 1}00/1000\n`).join(''))
})

it('writes one line per step for fewer than ten steps', () => {
  assert.deepEqual(shown(false, 2), ['sent 1/2\n', 'sent 2/2\n'])
})

function shown(isTTY: boolean, total: number): string[] {
  const written: string[] = []
  const screen = { isTTY, write: (text: string) => written.push(text) }
  const progress = showProgress('sent', total, screen)
  for (let step = 0; step < total; step += 1) progress.step()
  return written
}
