import { readFileSync } from 'node:fs'
import { Signalbox } from '@signalbox/sdk'
import { describeLeads, sendLeads } from './send-leads.ts'

const [path, source = 'In-house CRM'] = process.argv.slice(2)
if (path === undefined) {
  console.error('Usage: node examples/lead-stages/main.ts FILE.csv ["name of the CRM"]')
  process.exit(2)
}
// Reads SIGNALBOX_TOKEN and SIGNALBOX_BASE_URL.
const result = await sendLeads(new Signalbox(), readFileSync(path, 'utf8'), { source })
for (const line of describeLeads(result)) console.log(line)
if (result.problems.length > 0) process.exitCode = 1
