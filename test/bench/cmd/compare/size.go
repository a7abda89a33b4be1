package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/relist-go/relist/test/bench/measure"
)

// binarySize builds two programs that keep the same six fields of every Pod, and compares their sizes. It builds them a
// second time without the HTTP/2 in net/http, which they do not use.
func binarySize(ctx context.Context, r *runner) (string, error) {
	table := "| | relist | client-go | ratio |\n| --- | ---: | ---: | --- |\n"
	for _, as := range []struct {
		name  string
		flags []string
	}{
		{name: "binary, MB"},
		{name: "with `-tags nethttpomithttp2`, MB", flags: []string{"-tags", "nethttpomithttp2"}},
	} {
		relist, err := r.sizeOf(ctx, "../..", "./examples/slim", as.flags)
		if err != nil {
			return "", err
		}
		clientGo, err := r.sizeOf(ctx, ".", "./cmd/clientgoslim", as.flags)
		if err != nil {
			return "", err
		}
		table += fmt.Sprintf("| %s | %s | %s | **%s** |\n", as.name, number(relist), number(clientGo), number(relist/clientGo))
	}
	return table, nil
}

func (r *runner) sizeOf(ctx context.Context, dir, program string, flags []string) (mb float64, err error) {
	file := filepath.Join(r.bin, "size-"+filepath.Base(program))
	out, err := filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	args := append([]string{"build", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, program)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("build %s: %w", program, err)
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / measure.MB, nil
}
