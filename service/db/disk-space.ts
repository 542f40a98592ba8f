import { statfsSync } from 'node:fs'

/** What the disk of a folder still takes from an ordinary account. */
export function freeMegabytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return (bavail * bsize) / (1024 * 1024)
}
