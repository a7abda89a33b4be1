package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/relist-go/relist/apitest"
)

// serve is an apitest server with Pods, until ctx ends. It prints its URL once it has them.
func serve(ctx context.Context, o options) (err error) {
	s := apitest.New(apitest.Options{})
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fillPods(s, o.data, o.objects); err != nil {
		return err
	}
	listener, err := s.Listen("127.0.0.1:0") //nolint:contextcheck // Close ends it
	if err != nil {
		return err
	}
	fmt.Println(listener.URL)
	<-ctx.Done()
	return nil
}

// fillPods stores the Pods of a file again and again, under unique names.
func fillPods(s *apitest.Server, path string, count int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.NewDecoder(unzipped).Decode(&list); err != nil {
		return err
	}
	for i := range count {
		var pod map[string]any
		if err := json.Unmarshal(list.Items[i%len(list.Items)], &pod); err != nil {
			return err
		}
		metadata, ok := pod["metadata"].(map[string]any)
		if !ok {
			return fmt.Errorf("item %d of %s has no metadata", i%len(list.Items), path)
		}
		metadata["name"] = fmt.Sprintf("%s-%06d", metadata["name"], i)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		if _, err := s.Create("pods", pod); err != nil {
			return err
		}
	}
	return nil
}
