import type { Page } from './tag/page.ts'
import { createSignalboxCommand } from './tag/signalbox-command.ts'

// The entry point of dist/tag.generated.js (npm run browser:build). It replaces the stub
// and runs the queued calls in order.
const page = globalThis as unknown as Page
const stub = page.signalbox
if (!stub?.version) {
  const command = createSignalboxCommand(page)
  page.signalbox = command
  for (const call of stub?.q || []) command(...call)
}
