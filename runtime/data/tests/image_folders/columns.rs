//! Tests columns of images in Parquet files.

use crate::folder::{Folder, spec};
use crate::{grey, stored};
use bnnc_abi::data::Format;
use bnnc_data::LoadedData;
use bnnc_data::read::{Reading, read};

#[test]
fn parquet_files_may_have_encoded_images() {
    let folder = Folder::new();
    let file = folder.file("t.parquet", stored("table.parquet"));
    let data = LoadedData::read(&spec(Format::Parquet, &[&file])).unwrap();
    assert_eq!(data.schema().axes, [3, 12, 20]);
    let rows = data.dataset(0, 1).unwrap().train;
    assert_eq!(rows.ints("label").unwrap(), [2, 0, 1]);
    let expected = stored("palette.raw");
    for row in [0, 2] {
        let planes = (0..720).map(|at| f64::from(expected[at % 240 * 3 + at / 240]));
        assert!(planes.eq(rows.input(row).iter().copied()));
    }
    let field = data
        .schema()
        .fields
        .iter()
        .find(|field| field.name == "img")
        .unwrap();
    assert!(field.bytes, "pixels take one byte each");
}

/// Returns a Parquet file whose columns contain encoded images.
fn columns_of_images(columns: &[(&str, [Vec<u8>; 2])]) -> Vec<u8> {
    use parquet::data_type::ByteArrayType;
    use parquet::file::writer::SerializedFileWriter;
    let names = columns.iter().map(|(name, _)| format!("required binary {name};"));
    let message = format!("message m {{ {} }}", names.collect::<String>());
    let schema = parquet::schema::parser::parse_message_type(&message).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, images) in columns {
        let images: Vec<_> = images.iter().map(|image| image.clone().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        let writer = column.typed::<ByteArrayType>();
        writer.write_batch(&images, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// The number of channels of one column does not affect the next column.
#[test]
fn each_column_of_images_has_its_own_channels() {
    let photos = ["palette.png", "full.jpg"].map(stored);
    let masks = [grey([1, 2]), grey([3, 4])];
    for order in [["mask", "photo"], ["photo", "mask"]] {
        let columns = order.map(|name| match name {
            "photo" => (name, photos.clone()),
            _ => (name, masks.clone()),
        });
        let folder = Folder::new();
        let file = folder.file("t.parquet", columns_of_images(&columns));
        let table = read(Format::Parquet, &[file], None, &Reading::within(None)).unwrap();
        let shape = |name: &str| {
            let array = table.arrays.iter().find(|array| array.name == name);
            array.unwrap().shape[1..].to_vec()
        };
        assert_eq!(shape("photo"), [3, 12, 20]);
        assert_eq!(shape("mask")[0], 1);
    }
}
