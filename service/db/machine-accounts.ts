import { readFileSync } from 'node:fs'

/** An account of this machine, as a line of /etc/passwd names it. */
export interface MachineAccount {
  name: string
  uid: number
  gid: number
}

/** macOS numbers `nobody` -2, which Node cannot pass on; such accounts are left out. */
const UID_MAX = 2 ** 31 - 1

/** The accounts in /etc/passwd. Those of a directory service are not seen, and not needed. */
export function machineAccounts(): MachineAccount[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name = '', , uid = '', gid = ''] = line.split(':')
    const isUsable = /^\d+$/.test(uid) && Number(uid) <= UID_MAX
    return isUsable ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** How to call an account in a sentence, with or without a line in /etc/passwd. */
export function accountNameOf(uid: number): string {
  return machineAccounts().find(account => account.uid === uid)?.name ?? `account number ${uid}`
}
