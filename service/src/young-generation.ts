// Read before everything else. What the service handles in bulk is bytes (output of commands, files), and V8 lets go of
// bytes when it clears the young generation. By default that generation grows to 48 MiB and is cleared rarely, so that
// tens of megabytes that nobody needs lie around; at its first size it is cleared often, and each time is short.
import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--semi-space-growth-factor=1')
