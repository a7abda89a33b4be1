package cluster

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// awaitStop waits until a child that was sent SIGSTOP has stopped: until then its other threads still
// answer. It asks for stops only, so an exit is left to whoever waits for that.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for process %d to stop: %w", pid, err)
		}
	}
}
