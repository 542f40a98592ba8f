import type { Page } from './tag/page.ts'
import { createSignalboxCommand } from './tag/signalbox-command.ts'

// The program that npm run browser:build makes browser/dist/tag.generated.js of. It takes the
// place of the stub and runs what the page has called meanwhile, in the order of the calls.
const page = globalThis as unknown as Page
const stub = page.signalbox
if (!stub?.version) {
  const command = createSignalboxCommand(page)
  page.signalbox = command
  for (const call of stub?.q || []) command(...call)
}
