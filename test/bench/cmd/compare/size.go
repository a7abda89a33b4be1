package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/relist-go/relist/test/bench/measure"
)

// binarySize builds two programs that keep the same six fields of every Pod, and compares their sizes.
func binarySize(ctx context.Context, r *runner) (string, error) {
	relist, err := r.sizeOf(ctx, "../..", "./examples/slim")
	if err != nil {
		return "", err
	}
	clientGo, err := r.sizeOf(ctx, ".", "./cmd/clientgoslim")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| | relist | client-go | ratio |\n| --- | ---: | ---: | --- |\n| binary, MB | %s | %s | **%s** |\n",
		number(relist), number(clientGo), number(relist/clientGo)), nil
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
