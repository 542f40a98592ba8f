import type { Page, SignalboxCommand } from './tag/page.ts'
import { createSignalboxCommand } from './tag/signalbox-command.ts'

type Stub = Pick<SignalboxCommand, 'q' | 'version'>

// The entry point of dist/tag.generated.js (npm run browser:build). It replaces the stub
// and runs the queued calls in order.
const page = globalThis as unknown as Page
const { version, q = [] }: Stub = page.signalbox || {}
if (!version) {
  const command = createSignalboxCommand(page)
  page.signalbox = command
  for (const call of q) command(...call)
}
