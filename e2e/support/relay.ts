/**
 * A TCP relay, for standing between a node and its PostgreSQL. Held, it forwards nothing in either direction and keeps
 * every connection open, also those that are made meanwhile: what a network does that loses packets without a word. What
 * was under way is delivered when it goes on.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Relay {
  readonly port: number
  hold(): void
  goOn(): void
  /** Ends every connection at once, as a firewall that was restarted does. */
  drop(): void
  close(): Promise<void>
}

interface Pair {
  readonly near: Socket
  far: Socket | null
}

export async function startRelay(target: { readonly host: string; readonly port: number }): Promise<Relay> {
  const pairs = new Set<Pair>()
  let isHeld = false

  const forward = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => {
      if (to.write(bytes)) return
      from.pause()
      to.once('drain', () => isHeld || from.resume())
    })
    from.on('end', () => to.end())
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
    if (isHeld) from.pause()
  }
  const reach = (pair: Pair): void => {
    pair.far = connect({ ...target, allowHalfOpen: true, noDelay: true })
    forward(pair.near, pair.far)
    forward(pair.far, pair.near)
    pair.near.once('close', () => pairs.delete(pair))
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (near) => {
    const pair: Pair = { near, far: null }
    pairs.add(pair)
    // One that gives up before it was let through leaves nothing behind.
    near.on('error', () => near.destroy())
    if (isHeld) return
    reach(pair)
    near.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // It ends with the proof, also with one that fails.
  server.unref()
  const drop = (): void => {
    for (const { near, far } of pairs) {
      near.resetAndDestroy()
      far?.resetAndDestroy()
    }
    pairs.clear()
  }
  return {
    port: (server.address() as { port: number }).port,
    hold: () => {
      isHeld = true
      for (const { near, far } of pairs) {
        near.pause()
        far?.pause()
      }
    },
    goOn: () => {
      isHeld = false
      for (const pair of pairs) {
        if (pair.far === null) reach(pair)
        pair.near.resume()
        pair.far?.resume()
      }
    },
    drop,
    close: async () => {
      server.close()
      drop()
      await once(server, 'close')
    },
  }
}
