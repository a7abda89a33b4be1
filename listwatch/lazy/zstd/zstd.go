// Package zstd packs lazy objects with zstd (RFC 8878). Objects of one resource are alike, so a
// dictionary of a few of them makes all others a fraction of their bytes.
//
//	encoding, err := lazy.New[*corev1.Pod](lazy.Options{Packer: zstd.New()})
//
// No other package imports this one, so that a program that does not either has no zstd in its
// binary.
package zstd

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/relist-go/relist/listwatch/lazy"
)

const (
	// dictionarySize is how many bytes of the first objects are the dictionary. More of them save
	// little.
	dictionarySize = 64 << 10

	// dictionaryID is any number but 0.
	dictionaryID = 1
)

// New returns a Packer for the objects of one resource. The first objects, 64 KiB of them, are its
// dictionary, and stay as they are.
func New() lazy.Packer { return &packer{} }

type packer struct {
	coder atomic.Pointer[coder] // nil until there is a dictionary

	mu         sync.Mutex
	dictionary []byte // grows until the coder is made
}

type coder struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// Pack implements [lazy.Packer]. What would not become smaller stays as it is.
func (p *packer) Pack(data []byte) []byte {
	c := p.coder.Load()
	if c == nil {
		p.learn(data)
		return data
	}
	packed := c.encoder.EncodeAll(data, make([]byte, 0, len(data)))
	if len(packed) >= len(data) {
		return data
	}
	return bytes.Clone(packed)
}

// learn adds data to the dictionary, and makes the coder if that is large enough.
func (p *packer) learn(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.coder.Load() != nil {
		return
	}
	if p.dictionary = append(p.dictionary, data[:min(len(data), dictionarySize)]...); len(p.dictionary) < dictionarySize {
		return
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(dictionaryID, p.dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err == nil {
		var decoder *zstd.Decoder
		if decoder, err = zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionaryID, p.dictionary), zstd.WithDecoderConcurrency(0)); err == nil {
			p.coder.Store(&coder{encoder, decoder})
			return
		}
	}
	// unreachable: these options are good, as each test shows.
	panic("zstd: " + err.Error())
}

// Unpack implements [lazy.Packer].
func (p *packer) Unpack(packed []byte) []byte {
	data, err := p.coder.Load().decoder.DecodeAll(packed, nil)
	if err != nil {
		// unreachable: Pack made it with the same dictionary.
		panic("zstd: " + err.Error())
	}
	return data
}
