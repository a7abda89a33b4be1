package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/relist-go/relist/test/bench/measure"
)

// binarySize builds two programs that keep the same six fields of every Pod, and compares their
// sizes.
func binarySize(ctx context.Context, r *runner) (report, error) {
	relist, err := r.sizeOf(ctx, "../..", "./examples/slim")
	if err != nil {
		return report{}, err
	}
	clientGo, err := r.sizeOf(ctx, ".", "./cmd/clientgoslim")
	if err != nil {
		return report{}, err
	}
	cell := comparison([]float64{relist}, []float64{clientGo})
	return report{"binary, MB: " + cell + "\n", func(string) string { return cell }}, nil
}

func (r *runner) sizeOf(ctx context.Context, dir, program string) (mb float64, err error) {
	file := filepath.Join(r.bin, "size-"+filepath.Base(program)) // an absolute path
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, program)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("build %s: %w", program, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / measure.MB, nil
}
