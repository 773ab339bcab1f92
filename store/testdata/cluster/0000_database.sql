CREATE DATABASE IF NOT EXISTS `giverny-1` ON CLUSTER `two shards` ENGINE = Atomic;

CREATE TABLE IF NOT EXISTS `giverny-1`.`giverny_migrations` ON CLUSTER `two shards`
(version UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC'))
ENGINE = ReplicatedMergeTree('/clickhouse/tables/all_shards/{database}/{table}', '{shard}-{replica}')
ORDER BY version;
