import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One package of the lockfile. */
export interface LockedPackage {
  version?: string
  license?: string
  dev?: boolean
  link?: boolean
  integrity?: string
}

const LOCKFILE = join(import.meta.dirname, '..', '..', 'package-lock.json')

/** The packages that npm installs, by their folder: not our own workspaces. */
export function readLockedPackages(): [folder: string, locked: LockedPackage][] {
  const { packages } = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  return Object.entries(packages).filter(
    ([folder, { link }]) => folder.includes('node_modules/') && !link,
  )
}

/** Licenses that ask for no more than their own text in what is passed on (SPDX). */
const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'PSF-2.0',
  'Python-2.0',
])

/** Accepted for tools that are not part of the program: they are never passed on. */
const ACCEPTED_FOR_DEVELOPMENT = new Set([...ACCEPTED, 'CC-BY-4.0', 'MPL-2.0', 'Unlicense'])

/** Whether a license, or one of the alternatives of an SPDX expression, is accepted. */
export function isAcceptedLicense({ license = '', dev = false }: LockedPackage): boolean {
  const accepted = dev ? ACCEPTED_FOR_DEVELOPMENT : ACCEPTED
  const alternatives = license.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return alternatives.some(each => each.split(' AND ').every(name => accepted.has(name)))
}

/** `npm run licenses`: the number of packages by license, and those that are not accepted. */
function printLicenses(): void {
  const packages = readLockedPackages()
  const counts = new Map<string, number>()
  for (const [, { license = 'none' }] of packages) {
    counts.set(license, (counts.get(license) ?? 0) + 1)
  }
  for (const [license, count] of [...counts].sort(([, one], [, other]) => other - one)) {
    process.stdout.write(`${String(count).padStart(5)}  ${license}\n`)
  }
  const refused = packages.filter(([, locked]) => !isAcceptedLicense(locked))
  for (const [folder, { license = 'none' }] of refused) {
    process.stderr.write(`Not accepted: ${folder} (${license})\n`)
  }
  if (refused.length > 0) process.exitCode = 1
}

if (import.meta.main) printLicenses()
