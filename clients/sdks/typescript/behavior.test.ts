// Runs alone: its clock replaces the timers of the process.
import { it } from 'node:test'
import { assertEveryCaseRan, readBehaviorTable } from '../behavior-table.ts'
import { runCase } from './testing/run-case.ts'

const { now, cases } = readBehaviorTable()
const ran: string[] = []

for (const one of cases) {
  it(`${one.id}: ${one.title}`, async () => {
    ran.push(one.id)
    await runCase(one, now)
  })
}

it('ran every case of the table', () => {
  assertEveryCaseRan(ran)
})
