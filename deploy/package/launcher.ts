#!/usr/bin/env node
/** An older Node.js would end with a SyntaxError of the first file that it cannot link. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > 24 || (major === 24 && minor >= 2)) {
  await import('../../service/main.ts')
} else {
  process.stderr.write(
    `signalbox-server needs Node.js 24.2 or newer, and this is ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
