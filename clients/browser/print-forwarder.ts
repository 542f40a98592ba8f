import { parseArgs } from 'node:util'
import { FORWARDER_KINDS, renderForwarder } from './forwarder-template.ts'

// node clients/browser/print-forwarder.ts express --base-url https://signalbox.example/api/v1 --path /sb
const options = { 'base-url': { type: 'string' }, path: { type: 'string' } } as const
try {
  const { positionals, values } = parseArgs({
    options: { ...options, 'tag-path': { type: 'string' } },
    allowPositionals: true,
  })
  const kind = FORWARDER_KINDS.find(name => name === positionals[0])
  if (!kind) throw new RangeError(`Name one of: ${FORWARDER_KINDS.join(', ')}.`)
  const endpoints = { baseUrl: values['base-url'] ?? '', path: values.path ?? '/sb' }
  process.stdout.write(renderForwarder(kind, { ...endpoints, tagPath: values['tag-path'] }))
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
