package main

import (
	"errors"

	"github.com/relist-go/relist/bench/cases"
	"github.com/relist-go/relist/bench/objects"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// listOptions asks for the encoding of the case.
func listOptions[T store.Object](spec cases.Spec) (opts listwatch.Options[T], err error) {
	if spec.Encoding != objects.JSON {
		return opts, errors.New("relist does not have this encoding")
	}
	return opts, nil
}
