package atrium

import (
	"container/list"
	"sync"
)

// lru is a map for many goroutines that forgets what was used least recently.
type lru[K comparable, V any] struct {
	mutex   sync.Mutex
	size    int
	order   *list.List
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, order: list.New(), entries: make(map[K]*list.Element)}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if element, ok := l.entries[key]; ok {
		l.order.MoveToFront(element)
		return element.Value.(*entry[K, V]).value, true
	}
	var none V
	return none, false
}

// getOrSet returns what is there, else stores what make returns.
func (l *lru[K, V]) getOrSet(key K, make func() V) V {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if element, ok := l.entries[key]; ok {
		l.order.MoveToFront(element)
		return element.Value.(*entry[K, V]).value
	}
	value := make()
	l.add(key, value)
	return value
}

func (l *lru[K, V]) set(key K, value V) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if element, ok := l.entries[key]; ok {
		element.Value.(*entry[K, V]).value = value
		l.order.MoveToFront(element)
		return
	}
	l.add(key, value)
}

func (l *lru[K, V]) delete(key K) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if element, ok := l.entries[key]; ok {
		l.order.Remove(element)
		delete(l.entries, key)
	}
}

func (l *lru[K, V]) add(key K, value V) {
	l.entries[key] = l.order.PushFront(&entry[K, V]{key, value})
	for len(l.entries) > l.size {
		last := l.order.Back()
		l.order.Remove(last)
		delete(l.entries, last.Value.(*entry[K, V]).key)
	}
}
