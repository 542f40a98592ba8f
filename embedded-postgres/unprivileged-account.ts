import { execFile, type SpawnOptions } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, OTHER_DATABASE_HINT } from './embedded-postgres-error.ts'

/**
 * How PostgreSQL, which refuses to run as root, runs for us.
 * `self`: we are no root, so as ourselves. `uid`: as that account of the machine.
 * `namespace`: in a user namespace in which root bears the ordinary number `uid`. Seen from
 * outside it stays root without root's capabilities, which still opens root's private folders.
 */
export type UnprivilegedAccount =
  | { way: 'self' }
  | { way: 'uid'; name: string; uid: number; gid: number }
  | { way: 'namespace'; uid: number; gid: number }

interface AccountNeeds {
  /** A program that the account must be able to run. */
  program: string
  /** The data folder, real path; the account must be able to pass through it. */
  folder: string
  /** Who owns the cluster that is there already, or null. Its account is tried first. */
  clusterOwner: number | null
}

/** Chooses the account by trying. Throws an EmbeddedPostgresError when none can do it. */
export async function chooseAccount(needs: AccountNeeds): Promise<UnprivilegedAccount> {
  if (process.geteuid?.() !== 0) return { way: 'self' }
  for (const account of candidates(needs)) {
    if ((await findObstacle(account, needs)) === null) return account
  }
  throw await noUsableAccountError(needs)
}

/** The owner of the files that PostgreSQL writes under this account. */
export function accountFileOwner(account: UnprivilegedAccount): { uid: number; gid: number } {
  if (account.way === 'uid') return { uid: account.uid, gid: account.gid }
  return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
}

interface Command {
  file: string
  args: string[]
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>
}

/**
 * The command that runs a program under an account. Our environment stays with us: it holds
 * secrets, and PGPORT or PGOPTIONS in it would change the server. `C` keeps messages readable.
 */
export function commandAs(account: UnprivilegedAccount, file: string, args: string[]): Command {
  const options = { cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } }
  switch (account.way) {
    case 'self':
      return { file, args, options }
    case 'uid':
      return { file, args, options: { ...options, uid: account.uid, gid: account.gid } }
    case 'namespace': {
      const maps = [`--map-user=${account.uid}`, `--map-group=${account.gid}`]
      return { file: 'unshare', args: ['--user', ...maps, file, ...args], options }
    }
  }
}

/** The cluster's account, then the folder's, then nobody, then root in disguise. */
function candidates({ folder, clusterOwner }: AccountNeeds): UnprivilegedAccount[] {
  const known = listMachineAccounts()
  // PostgreSQL asks for the name of its account, so the disguise needs one that has a name.
  const disguise = known.find(({ name }) => name === 'daemon') ?? known.find(({ uid }) => uid > 0)
  const namespace = disguise && { way: 'namespace' as const, uid: disguise.uid, gid: disguise.gid }
  const folderOwner = statSync(folder).uid
  const ordinary = [
    ...known.filter(({ uid }) => uid === clusterOwner),
    ...known.filter(({ uid }) => uid === folderOwner),
    ...unprivilegedAmong(known),
  ]
    .filter(({ uid }) => uid !== 0)
    .map(account => ({ way: 'uid' as const, ...account }))
  if (!namespace) return ordinary
  return clusterOwner === 0 ? [namespace, ...ordinary] : [...ordinary, namespace]
}

/** An account that owns nothing. */
function unprivilegedAmong(known: MachineAccount[]): MachineAccount[] {
  const nobody = known.filter(({ name }) => name === 'nobody')
  return nobody.length > 0 ? nobody : known.filter(({ name }) => name === 'daemon')
}

type Obstacle = 'folder' | 'program'

const PROBE_MILLISECONDS_MAX = 20_000
const FOLDER_CLOSED = 77

/** Goes into the folder and runs the program under the account; null when both succeed. */
async function findObstacle(
  account: UnprivilegedAccount,
  { folder, program }: AccountNeeds,
): Promise<Obstacle | null> {
  const script = `cd "$1" || exit ${FOLDER_CLOSED}; exec "$2" --version`
  const { file, args, options } = commandAs(account, '/bin/sh', [
    '-c',
    script,
    'sh',
    folder,
    program,
  ])
  try {
    await promisify(execFile)(file, args, { ...options, timeout: PROBE_MILLISECONDS_MAX })
    return null
  } catch (error) {
    return (error as { code?: unknown }).code === FOLDER_CLOSED ? 'folder' : 'program'
  }
}

async function noUsableAccountError(needs: AccountNeeds): Promise<EmbeddedPostgresError> {
  const [stranger] = unprivilegedAmong(listMachineAccounts())
  const obstacle = stranger && (await findObstacle({ way: 'uid', ...stranger }, needs))
  const [closed, advice] =
    obstacle === 'program'
      ? [needs.program, 'install Signalbox outside private homes']
      : [needs.folder, 'set SIGNALBOX_DATA_DIR to a folder outside private homes']
  return new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and no other account of this machine can reach ' +
      `${closed}: ${advice} (like /var/lib/signalbox), start it as an ordinary user, ` +
      `or ${OTHER_DATABASE_HINT}`,
  )
}

/** An account of this machine, as a line of /etc/passwd names it. */
interface MachineAccount {
  name: string
  uid: number
  gid: number
}

/** macOS numbers `nobody` -2, which Node cannot pass on; such accounts are left out. */
const UID_MAX = 2 ** 31 - 1

/** The accounts in /etc/passwd. Those of a directory service are not seen, and not needed. */
export function listMachineAccounts(): MachineAccount[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name = '', , uid = '', gid = ''] = line.split(':')
    const isUsable = /^\d+$/.test(uid) && Number(uid) <= UID_MAX
    return isUsable ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** How to call an account in a sentence, with or without a line in /etc/passwd. */
export function findAccountName(uid: number): string {
  return listMachineAccounts().find(account => account.uid === uid)?.name ?? `account number ${uid}`
}
