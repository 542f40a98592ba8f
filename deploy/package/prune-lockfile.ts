interface LockedPackage {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  [member: string]: unknown
}

export interface Lockfile {
  lockfileVersion: number
  packages: Record<string, LockedPackage>
}

export interface RootPackage extends LockedPackage {
  name: string
  version: string
}

/**
 * The part of the repository's lockfile that the root needs, as an `npm-shrinkwrap.json`: npm
 * installs exactly the versions that were tested, of the dependencies of dependencies too.
 */
export function pruneLockfile({ lockfileVersion, packages }: Lockfile, root: RootPackage) {
  const required = follow(packages, listNames(root, { optional: false }), false)
  const all = follow(packages, listNames(root, { optional: true }), true)
  const entries = [...all].sort().map(path => {
    const { dev, devOptional, optional, peer, ...entry } = packages[path] ?? {}
    return [path, required.has(path) ? entry : { ...entry, optional: true }] as const
  })
  const { name, version } = root
  return {
    name,
    version,
    lockfileVersion,
    requires: true,
    packages: { '': root, ...Object.fromEntries(entries) },
  }
}

/** The paths in the lockfile of the packages and of everything that they depend on. */
function follow(
  packages: Lockfile['packages'],
  names: readonly string[],
  withOptional: boolean,
): Set<string> {
  const found = new Set<string>()
  const pending = names.map(name => ({ name, from: '' }))
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const path = locate(packages, next)
    if (path === null || found.has(path)) continue
    found.add(path)
    const dependencies = listNames(packages[path] ?? {}, { optional: withOptional })
    pending.push(...dependencies.map(name => ({ name, from: path })))
  }
  return found
}

/** As Node.js looks for it: in the nearest node_modules that has it. */
function locate(
  packages: Lockfile['packages'],
  { name, from }: { name: string; from: string },
): string | null {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === '') return null
  }
}

function parentOf(folder: string): string {
  const end = folder.lastIndexOf('/node_modules/')
  return end < 0 ? '' : folder.slice(0, end)
}

function listNames(entry: LockedPackage, { optional }: { optional: boolean }): string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = entry
  const peers = Object.keys(peerDependencies).filter(
    name => entry.peerDependenciesMeta?.[name]?.optional !== true,
  )
  const names = [...Object.keys(dependencies), ...peers]
  const optionals = Object.keys(optionalDependencies)
  return optional ? [...names, ...optionals] : names.filter(name => !optionals.includes(name))
}
