#include "kv/write_back.h"

#include <gtest/gtest.h>

namespace sluice::kv {
namespace {

Changes Of(std::vector<KeyStore::Change> list) { return {std::make_shared<Arena>(), list}; }

TEST(LayerTest, FindsEveryKeyOfManyAndKeepsThemInOrder) {
  Layer layer;
  for (int i = 0; i < 5000; ++i) layer.Put(std::to_string(i * 7919 % 5000), std::to_string(i));
  EXPECT_EQ(layer.versions().size(), 5000u);
  for (int i = 0; i < 5000; ++i) {
    const Found found = layer.Find(std::to_string(i * 7919 % 5000));
    EXPECT_TRUE(found.known);
    EXPECT_EQ(found.value, std::to_string(i));
  }
  EXPECT_FALSE(layer.Find("5000").known);
  EXPECT_FALSE(layer.Find("").known);
  EXPECT_EQ(layer.versions().begin()->key, "0");
}

TEST(LayerTest, HotKeyIsWrittenOverAndCountedOnce) {
  Layer layer;
  layer.Put("a", std::string(1000, 'x'));
  const size_t large = layer.size_bytes();
  layer.Put("a", "small");
  EXPECT_EQ(layer.versions().size(), 1u);
  EXPECT_EQ(layer.size_bytes(), large - 995);
  EXPECT_LT(layer.versions().begin()->version->capacity(), 1000u);  // It gave its memory back.
  layer.Put("a", std::nullopt);
  EXPECT_TRUE(layer.Find("a").known);
  EXPECT_EQ(layer.Find("a").value, std::nullopt);
  EXPECT_EQ(layer.size_bytes(), large - 1000);
  layer.Put("a", "");
  EXPECT_EQ(layer.Find("a").value, "");
}

TEST(WriteBackTest, NewestStagedVersionWinsAndReadersSeeNone) {
  WriteBack table(Applied{});
  table.Apply(Of({{"a", "0"}, {"b", "0"}}), {2, 2});
  table.Stage(1, Of({{"a", "1"}, {"c", "1"}}));
  table.Stage(2, Of({{"a", std::nullopt}, {"a", "2"}}));
  EXPECT_EQ(table.FindNewest("a").value, "2");
  EXPECT_EQ(table.FindNewest("b").value, "0");
  EXPECT_EQ(table.FindNewest("c").value, "1");
  EXPECT_FALSE(table.FindNewest("d").known);
  EXPECT_EQ(table.FindVisible("a").value, "0");
  table.Commit(1, {4, 3});
  EXPECT_EQ(table.FindVisible("a").value, "1");
  EXPECT_EQ(table.FindNewest("a").value, "2");
  table.Freeze();
  table.Commit(2, {6, 3});
  EXPECT_EQ(table.FindVisible("a").value, "2");
  EXPECT_EQ(table.frozen().front()->layer.Find("a").value, "1");  // Shared ones change no more.
}

}  // namespace
}  // namespace sluice::kv
