import { type DeletionSubmission, hash } from '@signalbox/sdk'
import { Option } from 'commander'
import { CliError, createUsageError } from '../cli-error.ts'
import type { DefineGroup, Handler } from '../command-context.ts'
import { confirm } from '../output/prompt.ts'
import { formatFacts } from '../output/table.ts'

export const defineUserData: DefineGroup = (group, run) => {
  group
    .command('delete')
    .description('erase what is stored of a person; asks first')
    .option('--email <address>', 'hashed here; only the digest is sent')
    .option('--phone <number>', 'international form; hashed here')
    .option('--external-id <id>', 'your id of the person; hashed here')
    .option('--hash <sha256>', 'the digest of a normalized identifier')
    .addOption(
      new Option('--type <type>', 'what --hash is; every kind by default').choices([
        'email',
        'phone',
        'external_id',
      ]),
    )
    .option('-y, --yes', 'do not ask')
    .action(run(deleteUserData))
}

interface DeleteOptions {
  email?: string
  phone?: string
  externalId?: string
  hash?: string
  type?: DeletionSubmission['identifier_type']
  yes?: boolean
}

const deleteUserData: Handler<DeleteOptions> = async (context, options) => {
  const submission = await readIdentifier(options)
  const { host, style } = context
  const client = await context.client()
  if (!options.yes) await askFirst()
  const result = await client.userData.delete(submission, { signal: host.signal })
  if (context.isJson) {
    await context.printJson(result)
    return
  }
  const before = result.duplicate ? ' (already erased earlier)' : ''
  const facts: [string, string][] = [
    ['Receipt', result.deletion_request_id],
    ['Events', String(result.events_updated)],
    ['Sessions', String(result.sessions_updated)],
    ['Completed', result.completed_at],
  ]
  const title = `${style('green', '✓')} The person is erased${before}.\n`
  await context.print(title + formatFacts(facts, style))

  async function askFirst(): Promise<void> {
    if (host.stdin.isTTY !== true) {
      throw createUsageError('There is no terminal to ask on: use --yes.')
    }
    const { identifier_hash: digest, identifier_type: type = 'identifier' } = submission
    const person = `the person with the ${type} ${digest.slice(0, 12)}…`
    const question = `Erase everything of ${person}? It cannot be undone.`
    if (await confirm(host, question)) return
    throw new CliError('failure', 'Nothing was erased.')
  }
}

async function readIdentifier(options: DeleteOptions): Promise<DeletionSubmission> {
  const given = [
    ['email', options.email, hash.email],
    ['phone', options.phone, hash.phone],
    ['external_id', options.externalId, hash.externalId],
  ] as const
  const [first, ...others] = given.filter(([, text]) => text !== undefined)
  if (others.length > 0 || (first !== undefined) === (options.hash !== undefined)) {
    throw createUsageError('Use one of --email, --phone, --external-id and --hash.')
  }
  if (first === undefined) {
    const type = options.type === undefined ? {} : { identifier_type: options.type }
    return { identifier_hash: options.hash ?? '', ...type }
  }
  const [type, text = '', digest] = first
  const identifier_hash = await digest(text)
  if (identifier_hash !== null) return { identifier_hash, identifier_type: type }
  throw createUsageError(
    `The ${type} cannot be normalized for certain, so it has no digest.`,
    type === 'phone' ? 'Use the international form, such as +4915123456789.' : null,
  )
}
