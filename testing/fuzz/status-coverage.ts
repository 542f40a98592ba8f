/** How often each operation was answered with each status. */
export class StatusCoverage {
  readonly #counts = new Map<string, Map<number, number>>()

  note(operationId: string, status: number): void {
    const statuses = this.#counts.get(operationId) ?? new Map<number, number>()
    this.#counts.set(operationId, statuses)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  get total(): number {
    return [...this.#counts.values()].flatMap(statuses => [...statuses.values()]).reduce(sum, 0)
  }

  of(operationId: string): ReadonlyMap<number, number> {
    return this.#counts.get(operationId) ?? new Map()
  }

  /** One line an operation, in the order of the alphabet. */
  toLines(): string[] {
    return [...this.#counts]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([operationId, statuses]) => {
        const inOrder = [...statuses].toSorted(([one], [other]) => one - other)
        const counts = inOrder.map(([status, count]) => `${status} × ${count}`)
        return `${operationId}: ${counts.join(', ')}`
      })
  }
}

function sum(one: number, other: number): number {
  return one + other
}
